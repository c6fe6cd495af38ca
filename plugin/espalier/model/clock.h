#pragma once

#include <chrono>

#include "espalier/model/units.h"

namespace espalier {

using Clock = std::chrono::steady_clock;

/// Wall-clock time from `start` until now.
[[nodiscard]] inline Seconds since(Clock::time_point start) {
  return std::chrono::duration<Seconds>(Clock::now() - start).count();
}

}  // namespace espalier
