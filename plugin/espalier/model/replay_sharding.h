#pragma once

#include <cstdint>
#include <span>

#include "espalier/model/sharding_problem.h"

namespace espalier {

/// What a choice costs and holds.
struct ShardingFigures {
  Cost cost = 0;  ///< kForbidden when something chosen is not allowed
  Bytes memory_bytes = 0;
};

/// Evaluates any choice, one strategy for each node; whether it keeps to the limit is the
/// question of validate_sharding.h.
/// @throws InvalidInput for another number of strategies, or one that a node has not
/// @par Cost  O(n log n + edges)
[[nodiscard]] ShardingFigures replay_sharding(const ShardingProblem& problem,
                                              std::span<const std::int32_t> strategies);

}  // namespace espalier
