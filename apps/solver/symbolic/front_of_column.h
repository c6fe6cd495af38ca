#pragma once

#include <algorithm>
#include <cstdint>

#include "solver/symbolic/symbolic.h"

namespace espalier::solver {

/// The front that eliminates a column; of kept variables the last one, which has them as
/// rows. @par Cost  O(log fronts)
[[nodiscard]] inline std::int32_t front_of_column(const Symbolic& symbolic,
                                                  std::int32_t column) {
  const auto& first = symbolic.first_column;
  const auto next = std::upper_bound(first.begin(), first.end() - 1, column);
  return static_cast<std::int32_t>(next - first.begin()) - 1;
}

}  // namespace espalier::solver
