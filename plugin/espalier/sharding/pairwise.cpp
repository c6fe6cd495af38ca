#include "espalier/sharding/pairwise.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "espalier/model/numbers.h"
#include "espalier/sharding/dominance.h"
#include "espalier/sharding/join_followers.h"
#include "espalier/sharding/with_states.h"

namespace espalier {
namespace {

// Sections are the times at which something starts.
void add_sections(const ShardingProblem& problem, Pairwise& pairwise) {
  std::vector<std::int64_t> starts;
  for (const ShardingNode& node : problem.nodes())
    if (node.from < node.to) starts.push_back(node.from);
  std::ranges::sort(starts);
  starts.erase(std::ranges::unique(starts).begin(), starts.end());
  const auto section = [&](std::int64_t time) {
    return static_cast<std::int32_t>(std::ranges::lower_bound(starts, time) -
                                     starts.begin());
  };
  for (const ShardingNode& node : problem.nodes()) {
    if (node.from < node.to) {
      pairwise.holds.push_back(
          {section(node.from), section(node.to), pairwise.usages.size()});
      pairwise.usages.insert(pairwise.usages.end(), node.usages.begin(),
                             node.usages.end());
    }
    pairwise.first_hold.push_back(pairwise.holds.size());
  }
  pairwise.room.assign(starts.size(), problem.limit());
}

// Edges between the same nodes become one.
void add_edges(const ShardingProblem& problem, Pairwise& pairwise) {
  std::vector<std::size_t> order(problem.edges().size());
  for (std::size_t e = 0; e < order.size(); ++e) order[e] = e;
  const auto ends = [&](std::size_t e) {
    const ShardingEdge& edge = problem.edges()[e];
    return std::minmax(edge.first, edge.second);
  };
  std::ranges::stable_sort(
      order, [&](std::size_t e, std::size_t f) { return ends(e) < ends(f); });
  for (const std::size_t e : order) {
    const ShardingEdge& edge = problem.edges()[e];
    const auto [a, b] = ends(e);
    const std::size_t rows = pairwise.count(at(a)), columns = pairwise.count(at(b));
    if (pairwise.edges.empty() || pairwise.edges.back().a != a ||
        pairwise.edges.back().b != b) {
      pairwise.edges.push_back({a, b, pairwise.pair_costs.size()});
      pairwise.pair_costs.resize(pairwise.pair_costs.size() + rows * columns);
    }
    double* const costs = pairwise.pair_costs.data() + pairwise.edges.back().first;
    for (std::size_t s = 0; s < rows; ++s) {
      for (std::size_t t = 0; t < columns; ++t) {
        const Cost cost = edge.costs[edge.first == a ? s * columns + t : t * rows + s];
        double& sum = costs[s * columns + t];
        sum = cost >= kForbidden ? Pairwise::kNever
                                 : std::min(Pairwise::kNever, sum + double(cost));
      }
    }
  }
}

Pairwise pairwise_of(const ShardingProblem& problem) {
  Pairwise pairwise;
  add_sections(problem, pairwise);
  for (std::size_t i = 0; i < problem.nodes().size(); ++i) {
    const ShardingNode& node = problem.nodes()[i];
    pairwise.members.push_back(
        {static_cast<std::int32_t>(i), pairwise.strategies.size()});
    pairwise.first_member.push_back(pairwise.members.size());
    for (std::size_t s = 0; s < node.costs.size(); ++s) {
      const Cost cost = node.costs[s];
      pairwise.costs.push_back(cost >= kForbidden ? Pairwise::kNever : double(cost));
      pairwise.strategies.push_back(static_cast<std::int32_t>(s));
    }
    pairwise.first_state.push_back(pairwise.costs.size());
  }
  pairwise.fixed.assign(problem.nodes().size(), -1);
  add_edges(problem, pairwise);
  pairwise.link();
  return pairwise;
}

// States that are not allowed, without partners or dominated go, and followers join,
// until nothing changes.
Pairwise settle(Pairwise problem) {
  while (!problem.impossible) {
    std::vector<char> alive(problem.costs.size(), 1);
    if (drop_unsupported(problem, alive)) {
      problem = with_states(problem, alive);
    } else if (auto joined = join_followers(problem)) {
      problem = with_states(*joined, std::vector<char>(joined->costs.size(), 1));
    } else if (drop_oversized(problem, alive) || drop_dominated(problem, alive)) {
      problem = with_states(problem, alive);
    } else {
      break;
    }
  }
  return problem;
}

}  // namespace

void Pairwise::link() {
  first_link.assign(size() + 1, 0);
  for (const Edge& edge : edges) {
    ++first_link[at(edge.a) + 1];
    ++first_link[at(edge.b) + 1];
  }
  for (std::size_t v = 0; v < size(); ++v) first_link[v + 1] += first_link[v];
  links.resize(first_link.back());
  std::vector<std::size_t> next(first_link.begin(), first_link.end() - 1);
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const auto [a, b, first] = edges[e];
    const auto number = static_cast<std::int32_t>(e);
    links[next[at(a)]++] = {number, b, true};
    links[next[at(b)]++] = {number, a, false};
  }
}

std::vector<double> Pairwise::prices_of(std::span<const double> multipliers) const {
  std::vector<double> before(multipliers.size() + 1);
  for (std::size_t t = 0; t < multipliers.size(); ++t)
    before[t + 1] = before[t] + multipliers[t];
  std::vector<double> prices;
  prices.reserve(holds.size());
  for (const Hold& hold : holds)
    prices.push_back(before[at(hold.to)] - before[at(hold.from)]);
  return prices;
}

Pairwise simplify(const ShardingProblem& problem) {
  const Pairwise all = pairwise_of(problem);
  // Once without a change: sections and nodes with one strategy go.
  return settle(with_states(all, std::vector<char>(all.costs.size(), 1)));
}

Pairwise restrict_states(const Pairwise& problem, std::vector<char> alive) {
  return settle(with_states(problem, alive));
}

std::vector<std::int32_t> strategies_of(const Pairwise& problem,
                                        std::span<const std::int32_t> states) {
  std::vector<std::int32_t> strategies = problem.fixed;
  for (std::size_t v = 0; v < problem.size(); ++v)
    for (const Pairwise::Member& member : problem.members_of(v))
      strategies[at(member.node)] = problem.strategies[member.first + at(states[v])];
  return strategies;
}

}  // namespace espalier
