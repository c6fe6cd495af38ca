#include "espalier/model/replay_sharding.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "espalier/model/error.h"

namespace espalier {
namespace {

void check(const ShardingProblem& problem, std::span<const std::int32_t> strategies) {
  if (strategies.size() != problem.nodes().size())
    throw InvalidInput(fmt::format("{} strategies for {} nodes", strategies.size(),
                                   problem.nodes().size()));
  for (std::size_t i = 0; i < strategies.size(); ++i) {
    const std::size_t count = problem.nodes()[i].costs.size();
    if (strategies[i] < 0 || static_cast<std::size_t>(strategies[i]) >= count)
      throw InvalidInput(
          fmt::format("node {}: strategy {} is none of its {}", i, strategies[i], count));
  }
}

// A running balance; what ends at a time is taken off before what starts there.
Bytes peak(const ShardingProblem& problem, std::span<const std::int32_t> strategies) {
  std::vector<std::pair<std::int64_t, Bytes>> changes;
  for (std::size_t i = 0; i < strategies.size(); ++i) {
    const ShardingNode& node = problem.nodes()[i];
    if (node.from >= node.to) continue;
    const Bytes usage = node.usages[static_cast<std::size_t>(strategies[i])];
    changes.emplace_back(node.from, usage);
    changes.emplace_back(node.to, -usage);
  }
  std::ranges::sort(changes);
  Bytes held = 0, most = 0;
  for (const auto& [time, change] : changes) most = std::max(most, held += change);
  return most;
}

}  // namespace

ShardingFigures replay_sharding(const ShardingProblem& problem,
                                std::span<const std::int32_t> strategies) {
  check(problem, strategies);
  ShardingFigures figures;
  const auto add = [&](Cost cost) {
    figures.cost = std::min(kForbidden, figures.cost + std::min(cost, kForbidden));
  };
  const auto chosen = [&](std::int32_t node) {
    return static_cast<std::size_t>(strategies[static_cast<std::size_t>(node)]);
  };
  for (std::size_t i = 0; i < strategies.size(); ++i)
    add(problem.nodes()[i].costs[static_cast<std::size_t>(strategies[i])]);
  for (const ShardingEdge& edge : problem.edges()) {
    const std::size_t columns =
        problem.nodes()[static_cast<std::size_t>(edge.second)].costs.size();
    add(edge.costs[chosen(edge.first) * columns + chosen(edge.second)]);
  }
  figures.memory_bytes = peak(problem, strategies);
  return figures;
}

}  // namespace espalier
