#pragma once

#include <algorithm>

#include "espalier/model/error.h"
#include "espalier/model/units.h"

namespace espalier::solver {

/// What the bound on the process is made of. The bound covers everything that is
/// resident, so what is there before the first front, and what the runtime will need
/// beside the fronts, is taken off before the tree is planned.
struct MemoryAccount {
  Bytes analysis_peak = 0;  ///< VmHWM up to the start of the factorisation
  Bytes baseline = 0;       ///< resident then: program, runtime, matrix, structures
  Bytes reserve = 0;        ///< kept for heap and system beside the fronts
  Bytes tree_least = 0;     ///< least bound of the assembly tree, everything in memory
  Bytes solve = 0;          ///< factor and vectors: resident while solving
  Bytes tree_least_out_of_core = 0;  ///< with a spill file for all that can go there
  Bytes solve_out_of_core = 0;
  Bytes elsewhere = 0;  ///< what another process of the job needs that has the same bound

  /// What this process needs: a smaller bound is refused.
  [[nodiscard]] Bytes needed() const { return needed(tree_least, solve); }
  [[nodiscard]] Bytes needed_out_of_core() const {
    return needed(tree_least_out_of_core, solve_out_of_core);
  }
  /// What users are told: needed() and 2 MiB, since two runs on the same input differ by
  /// pages here and there, and what one prints as the least must do for the next.
  [[nodiscard]] Bytes least() const { return checked_add(needed(), kRunToRun); }
  [[nodiscard]] Bytes least_out_of_core() const {
    return checked_add(needed_out_of_core(), kRunToRun);
  }
  /// Whether a bound will do for this run: with half of that to spare.
  [[nodiscard]] bool fits(Bytes bound) const {
    return checked_add(needed(), kRunToRun / 2) <= bound;
  }
  /// What an accepted bound on the process leaves for the tree.
  [[nodiscard]] Bytes tree_bound(Bytes bound) const { return bound - baseline - reserve; }

 private:
  static constexpr Bytes kRunToRun = Bytes{2} << 20;
  [[nodiscard]] Bytes needed(Bytes tree, Bytes solving) const {
    const Bytes beside = checked_add(baseline, reserve);
    return std::max({analysis_peak, checked_add(tree, beside),
                     checked_add(solving, beside), elsewhere});
  }
};

}  // namespace espalier::solver
