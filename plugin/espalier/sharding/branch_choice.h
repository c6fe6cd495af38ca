#pragma once

#include "espalier/sharding/incumbent.h"
#include "espalier/sharding/pairwise.h"
#include "espalier/sharding/sharding_budget.h"

namespace espalier {

/// Decides by depth-first search whether a choice of less cost than the incumbent's is
/// left: each subproblem is bounded by a BoundRaiser, loses the states that its bound
/// excludes, and is split at a variable into its state of the least bound and all others.
///
/// @param most_entries  pair costs and states that all subproblems on the stack may hold
/// @return true when the search is complete: the incumbent is the best of `problem`, or
///         nothing within the limit is; false when a limit ended it
bool branch_choice(const Pairwise& problem, std::span<const double> multipliers,
                   std::int64_t most_entries, Incumbent& incumbent,
                   ShardingBudget& budget);

}  // namespace espalier
