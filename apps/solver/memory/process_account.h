#pragma once

#include <algorithm>
#include <cstdint>

#include "espalier/model/error.h"
#include "espalier/model/units.h"

namespace espalier::solver {

/// What of a bound on the resident set of the whole process is not there for the work:
/// the one account of every program that runs StarPU inside a bound.
struct ProcessAccount {
  Bytes peak_before = 0;  ///< VmHWM up to the work
  Bytes baseline = 0;     ///< resident when the work starts
  Bytes reserve = 0;      ///< kept for heap and system beside the work

  /// A bound below this is refused, for work that needs `inside` at once.
  [[nodiscard]] Bytes needed(Bytes inside) const {
    return std::max(peak_before, checked_add(inside, checked_add(baseline, reserve)));
  }
  /// What users are told: needed() and 2 MiB, since two runs on the same input differ by
  /// pages here and there, and what one prints as the least must do for the next.
  [[nodiscard]] Bytes least(Bytes inside) const {
    return checked_add(needed(inside), kRunToRun);
  }
  /// What a bound leaves for the work.
  [[nodiscard]] Bytes left(Bytes bound) const { return bound - baseline - reserve; }

  static constexpr Bytes kRunToRun = Bytes{2} << 20;
};

/// The account at this moment: the runtime runs, and everything that stays is there.
[[nodiscard]] ProcessAccount measure_process(Bytes reserve);

/// What grows beside the work: the heap of the runtime and the system's own rounding.
[[nodiscard]] constexpr Bytes runtime_reserve(std::int32_t workers) {
  return (Bytes{2} << 20) + (Bytes{512} << 10) * workers;
}

}  // namespace espalier::solver
