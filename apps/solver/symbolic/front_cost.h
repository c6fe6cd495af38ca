#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "espalier/model/units.h"
#include "solver/symbolic/symbolic.h"

namespace espalier::solver {

/// Flops of the partial factorisation of a front: sum over pivots of squared lengths.
[[nodiscard]] Flops front_flops(std::int64_t order, std::int64_t pivots);

/// Time of assembling an entry, in flops of dense work.
inline constexpr Flops kFlopsPerAssembledEntry = 10;

/// Time of a front in flops of dense work: front_flops(), assembling its entries and
/// opening it, on each side that it has.
[[nodiscard]] Flops front_cost(const Symbolic& symbolic, std::int32_t front,
                               std::int32_t sides);

/// Work of a subtree up to which it is one task, in a tree of which all is `all`:
/// `floor`, below which a task is not worth its overhead, as long as it is less than the
/// part `most` of all work or than `least`, which is done sooner than two workers have
/// agreed.
[[nodiscard]] inline Flops one_task_limit(Flops all, Flops floor = 2e7,
                                          double most = 1.0 / 32, Flops least = 5e5) {
  return std::min(floor, std::max(least, most * all));
}

/// Whether a factorisation, or a solve, takes some hundred nanoseconds: to read the clock
/// before and after is a tenth of that.
[[nodiscard]] inline bool is_too_short_to_time(const Symbolic& symbolic) {
  constexpr double kShort = 2000;
  return symbolic.factor_flops < kShort;
}

/// front_cost() of all fronts before each, and of all.
/// @par Cost  O(fronts)
[[nodiscard]] std::vector<Flops> costs_until(const Symbolic& symbolic,
                                             std::int32_t sides);

/// front_cost() of each front and all below it.
/// @par Cost  O(fronts)
[[nodiscard]] std::vector<Flops> subtree_costs(const Symbolic& symbolic,
                                               std::int32_t sides);

}  // namespace espalier::solver
