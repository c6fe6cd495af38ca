#include "espalier/sharding/incumbent.h"

#include <algorithm>
#include <utility>

#include "espalier/model/replay_sharding.h"

namespace espalier {
namespace {

Cost largest_allowed(std::span<const Cost> costs) {
  Cost most = 0;
  for (const Cost cost : costs)
    if (cost < kForbidden) most = std::max(most, cost);
  return most;
}

}  // namespace

Incumbent::Incumbent(const ShardingProblem& problem) : problem_(&problem), cost_(1) {
  for (const ShardingNode& node : problem.nodes()) cost_ += largest_allowed(node.costs);
  for (const ShardingEdge& edge : problem.edges()) cost_ += largest_allowed(edge.costs);
}

bool Incumbent::offer(const Pairwise& pairwise, std::span<const std::int32_t> states) {
  return offer(strategies_of(pairwise, states));
}

bool Incumbent::offer(std::vector<std::int32_t> strategies) {
  const ShardingFigures figures = replay_sharding(*problem_, strategies);
  if (figures.cost < kForbidden)
    least_ = std::min(least_.value_or(figures.memory_bytes), figures.memory_bytes);
  if (figures.cost >= cost_ || figures.memory_bytes > problem_->limit()) return false;
  found_ = true;
  cost_ = figures.cost;
  memory_bytes_ = figures.memory_bytes;
  strategies_ = std::move(strategies);
  return true;
}

std::optional<std::vector<std::int32_t>> Incumbent::states_in(
    const Pairwise& pairwise) const {
  if (!found_) return std::nullopt;
  for (std::size_t i = 0; i < pairwise.fixed.size(); ++i)
    if (pairwise.fixed[i] >= 0 && pairwise.fixed[i] != strategies_[i])
      return std::nullopt;
  std::vector<std::int32_t> states(pairwise.size());
  for (std::size_t v = 0; v < states.size(); ++v) {
    const std::size_t count = pairwise.count(v);
    const auto is_chosen = [&](std::size_t s) {
      return std::ranges::all_of(pairwise.members_of(v), [&](const auto& member) {
        return pairwise.strategies[member.first + s] ==
               strategies_[static_cast<std::size_t>(member.node)];
      });
    };
    std::size_t state = 0;
    while (state < count && !is_chosen(state)) ++state;
    if (state == count) return std::nullopt;
    states[v] = static_cast<std::int32_t>(state);
  }
  return states;
}

}  // namespace espalier
