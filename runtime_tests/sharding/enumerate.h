#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "espalier/model/replay_sharding.h"

namespace espalier {

/// The least cost of all choices within the limit; nothing: none is allowed.
inline std::optional<Cost> enumerate(const ShardingProblem& problem) {
  std::vector<std::int32_t> strategies(problem.nodes().size(), 0);
  std::optional<Cost> least;
  for (;;) {
    const ShardingFigures figures = replay_sharding(problem, strategies);
    if (figures.cost < kForbidden && figures.memory_bytes <= problem.limit())
      least = std::min(least.value_or(figures.cost), figures.cost);
    std::size_t i = 0;
    for (; i < strategies.size(); ++i) {
      if (++strategies[i] < std::ssize(problem.nodes()[i].costs)) break;
      strategies[i] = 0;
    }
    if (i == strategies.size()) return least;
  }
}

}  // namespace espalier
