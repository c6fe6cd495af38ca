#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "espalier/model/sharding_problem.h"

namespace espalier {

/// Which nodes and edges of a problem are alike: those of one number have equal costs,
/// usages and times. Found once, when a problem is made, so that what looks for repeated
/// parts compares numbers.
struct ProblemKinds {
  std::vector<std::int32_t> nodes, edges;
  bool held_together = true;  ///< all nodes are held at the same times, or none is
  double most_cost = 0;       ///< no allowed choice costs more
};

/// The largest cost that is allowed.
[[nodiscard]] double most_allowed(std::span<const Cost> costs);

/// @par Cost  O(costs of the problem)
[[nodiscard]] ProblemKinds kinds_of(const ShardingProblem& problem);

}  // namespace espalier
