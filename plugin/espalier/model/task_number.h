#pragma once

#include <cstdint>

#include "espalier/model/task_tree.h"

namespace espalier {

/// As messages write it.
[[nodiscard]] constexpr std::int32_t number(TaskId task) {
  return static_cast<std::int32_t>(task);
}

}  // namespace espalier
