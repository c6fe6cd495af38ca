#pragma once

#include <algorithm>

#include "espalier/model/error.h"
#include "espalier/model/units.h"
#include "solver/memory/process_account.h"

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
  Bytes elsewhere_out_of_core = 0;
  /// Of the bound that was accepted, for delayed pivots beside what is in the reserve.
  Bytes delays = 0;

  /// What a factorisation and a solve take beside what is resident before.
  [[nodiscard]] Bytes inside() const { return checked_add(used(), reserve); }
  [[nodiscard]] Bytes inside_out_of_core() const {
    return checked_add(used_out_of_core(), reserve);
  }
  /// What this process needs: a smaller bound is refused.
  [[nodiscard]] Bytes needed() const { return std::max(needed_for(used()), elsewhere); }
  [[nodiscard]] Bytes needed_out_of_core() const {
    return std::max(needed_for(used_out_of_core()), elsewhere_out_of_core);
  }
  /// For work that needs `inside` at once, beside what is resident before.
  [[nodiscard]] Bytes needed_for(Bytes inside) const { return process().needed(inside); }
  /// What users are told: see ProcessAccount::least().
  [[nodiscard]] Bytes least() const {
    return checked_add(needed(), ProcessAccount::kRunToRun);
  }
  [[nodiscard]] Bytes least_out_of_core() const {
    return checked_add(needed_out_of_core(), ProcessAccount::kRunToRun);
  }
  /// Whether a bound will do for this run: with half of that to spare.
  [[nodiscard]] bool fits(Bytes bound) const {
    return checked_add(needed(), ProcessAccount::kRunToRun / 2) <= bound;
  }
  [[nodiscard]] bool fits_out_of_core(Bytes bound) const {
    return checked_add(needed_out_of_core(), ProcessAccount::kRunToRun / 2) <= bound;
  }
  /// What an accepted bound on the process leaves for the tree.
  [[nodiscard]] Bytes tree_bound(Bytes bound) const {
    return process().left(bound) - delays;
  }
  /// What a bound has beyond what a factorisation or a solve uses; 0: nothing.
  [[nodiscard]] Bytes beyond(Bytes bound, Bytes used) const {
    return std::max<Bytes>(0, process().left(bound) - used);
  }
  /// What a bound has that neither a factorisation nor a solve needs; 0: nothing.
  [[nodiscard]] Bytes spare(Bytes bound, bool out_of_core) const {
    return beyond(bound, out_of_core ? used_out_of_core() : used());
  }

 private:
  [[nodiscard]] ProcessAccount process() const {
    return {.peak_before = analysis_peak, .baseline = baseline, .reserve = reserve};
  }
  // By a factorisation or a solve, whichever is more.
  [[nodiscard]] Bytes used() const { return std::max(tree_least, solve); }
  [[nodiscard]] Bytes used_out_of_core() const {
    return std::max(tree_least_out_of_core, solve_out_of_core);
  }
};

}  // namespace espalier::solver
