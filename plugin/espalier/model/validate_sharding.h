#pragma once

#include "espalier/model/sharding_problem.h"
#include "espalier/model/validate.h"

namespace espalier {

/// One strategy that a node has for each of them, nothing that is not allowed, the cost
/// and the memory exactly those of the choice, no time at which more than the limit is
/// held, and the bound not above the cost.
///
/// Shares no code with the planners nor with replay_sharding(): costs are summed in 128
/// bits, and memory by differences over ranks of time.
/// @par Cost  O(n log n + edges)
[[nodiscard]] Violations validate(const ShardingProblem& problem,
                                  const ShardingChoice& choice);

}  // namespace espalier
