#include "espalier/model/validate_sharding.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "espalier/model/violations.h"

namespace espalier {
namespace {

bool check_strategies(const ShardingProblem& problem, const ShardingChoice& choice,
                      Violations& violations) {
  if (choice.strategies.size() != problem.nodes().size()) {
    complain(violations, fmt::format("{} strategies for {} nodes",
                                     choice.strategies.size(), problem.nodes().size()));
    return false;
  }
  bool all = true;
  for (std::size_t i = 0; i < choice.strategies.size(); ++i) {
    const auto count = static_cast<std::int64_t>(problem.nodes()[i].costs.size());
    if (choice.strategies[i] >= 0 && choice.strategies[i] < count) continue;
    complain(violations, fmt::format("node {}: strategy {} is none of its {}", i,
                                     choice.strategies[i], count));
    all = false;
  }
  return all;
}

void check_cost(const ShardingProblem& problem, const ShardingChoice& choice,
                Violations& violations) {
  __extension__ using Wide = __int128;
  Wide sum = 0;
  bool allowed = true;
  const auto add = [&](Cost cost, const char* what, std::size_t number) {
    if (cost >= kForbidden) {
      allowed = false;
      complain(violations,
               fmt::format("{} {}: what is chosen is not allowed", what, number));
    }
    sum += cost;
  };
  const auto of = [&](std::int32_t node) { return static_cast<std::size_t>(node); };
  for (std::size_t i = 0; i < choice.strategies.size(); ++i)
    add(problem.nodes()[i].costs.at(of(choice.strategies[i])), "node", i);
  for (std::size_t e = 0; e < problem.edges().size(); ++e) {
    const ShardingEdge& edge = problem.edges()[e];
    const std::size_t width = problem.nodes()[of(edge.second)].usages.size();
    add(edge.costs.at(of(choice.strategies[of(edge.first)]) * width +
                      of(choice.strategies[of(edge.second)])),
        "edge", e);
  }
  if (allowed && sum != choice.cost)
    complain(violations, fmt::format("the cost is {}, the choice costs {}", choice.cost,
                                     static_cast<Cost>(sum)));
  if (choice.lower_bound > choice.cost)
    complain(violations, fmt::format("the lower bound {} is above the cost {}",
                                     choice.lower_bound, choice.cost));
}

void check_memory(const ShardingProblem& problem, const ShardingChoice& choice,
                  Violations& violations) {
  std::map<std::int64_t, Bytes> differences;
  for (std::size_t i = 0; i < choice.strategies.size(); ++i) {
    const ShardingNode& node = problem.nodes()[i];
    if (node.to <= node.from) continue;
    const Bytes usage = node.usages.at(static_cast<std::size_t>(choice.strategies[i]));
    differences[node.from] += usage;
    differences[node.to] -= usage;
  }
  Bytes held = 0, most = 0;
  for (const auto& [time, difference] : differences) {
    held += difference;
    most = std::max(most, held);
    if (held > problem.limit())
      complain(violations, fmt::format("time {}: {} held, the limit is {}", time, held,
                                       problem.limit()));
  }
  if (most != choice.memory_bytes)
    complain(violations, fmt::format("the memory is {}, the choice holds {}",
                                     choice.memory_bytes, most));
}

}  // namespace

Violations validate(const ShardingProblem& problem, const ShardingChoice& choice) {
  Violations violations;
  if (!check_strategies(problem, choice, violations)) return violations;
  check_cost(problem, choice, violations);
  check_memory(problem, choice, violations);
  return violations;
}

}  // namespace espalier
