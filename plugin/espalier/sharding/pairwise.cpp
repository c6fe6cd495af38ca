#include "espalier/sharding/pairwise.h"

#include <algorithm>
#include <map>
#include <utility>

#include "espalier/sharding/dominance.h"

namespace espalier {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

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
    const bool held = node.from < node.to;
    pairwise.from.push_back(held ? section(node.from) : 0);
    pairwise.to.push_back(held ? section(node.to) : 0);
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

void link(Pairwise& pairwise) {
  pairwise.first_link.assign(pairwise.size() + 1, 0);
  for (const Pairwise::Edge& edge : pairwise.edges) {
    ++pairwise.first_link[at(edge.a) + 1];
    ++pairwise.first_link[at(edge.b) + 1];
  }
  for (std::size_t v = 0; v < pairwise.size(); ++v)
    pairwise.first_link[v + 1] += pairwise.first_link[v];
  pairwise.links.resize(pairwise.first_link.back());
  std::vector<std::size_t> next(pairwise.first_link.begin(),
                                pairwise.first_link.end() - 1);
  for (std::size_t e = 0; e < pairwise.edges.size(); ++e) {
    const auto [a, b, first] = pairwise.edges[e];
    const auto number = static_cast<std::int32_t>(e);
    pairwise.links[next[at(a)]++] = {number, b, true};
    pairwise.links[next[at(b)]++] = {number, a, false};
  }
}

Pairwise pairwise_of(const ShardingProblem& problem) {
  Pairwise pairwise;
  add_sections(problem, pairwise);
  for (std::size_t i = 0; i < problem.nodes().size(); ++i) {
    const ShardingNode& node = problem.nodes()[i];
    pairwise.nodes.push_back(static_cast<std::int32_t>(i));
    for (std::size_t s = 0; s < node.costs.size(); ++s) {
      const Cost cost = node.costs[s];
      pairwise.costs.push_back(cost >= kForbidden ? Pairwise::kNever : double(cost));
      pairwise.usages.push_back(node.usages[s]);
      pairwise.strategies.push_back(static_cast<std::int32_t>(s));
    }
    pairwise.first_state.push_back(pairwise.costs.size());
  }
  pairwise.fixed.assign(problem.nodes().size(), -1);
  add_edges(problem, pairwise);
  link(pairwise);
  return pairwise;
}

// A problem with some of the states of another; variables with one state go.
class Restriction {
 public:
  Restriction(const Pairwise& before, const std::vector<char>& alive)
      : before_(before), alive_(alive), number_(before.size(), -1) {}

  Pairwise run() {
    after_.fixed = before_.fixed;
    after_.constant = before_.constant;
    after_.room = before_.room;
    for (std::size_t v = 0; v < before_.size() && !after_.impossible; ++v) add(v);
    if (after_.impossible) return std::move(after_);
    for (const Pairwise::Edge& edge : before_.edges) add_edge(edge);
    link(after_);
    keep_sections();
    return std::move(after_);
  }

 private:
  [[nodiscard]] std::size_t only_state(std::size_t v) const {
    std::size_t s = before_.first_state[v];
    while (alive_[s] == 0) ++s;
    return s;
  }

  void add(std::size_t v) {
    const std::size_t first = before_.first_state[v], end = before_.first_state[v + 1];
    const auto left = std::count_if(alive_.begin() + std::ptrdiff_t(first),
                                    alive_.begin() + std::ptrdiff_t(end),
                                    [](char c) { return c != 0; });
    if (left == 0) {
      after_.impossible = true;
      return;
    }
    if (left == 1) return fix(v, only_state(v));
    number_[v] = static_cast<std::int32_t>(after_.size());
    after_.nodes.push_back(before_.nodes[v]);
    after_.from.push_back(before_.from[v]);
    after_.to.push_back(before_.to[v]);
    for (std::size_t s = first; s < end; ++s) {
      if (alive_[s] == 0) continue;
      after_.costs.push_back(before_.costs[s]);
      after_.usages.push_back(before_.usages[s]);
      after_.strategies.push_back(before_.strategies[s]);
    }
    after_.first_state.push_back(after_.costs.size());
  }

  void fix(std::size_t v, std::size_t s) {
    after_.fixed[at(before_.nodes[v])] = before_.strategies[s];
    after_.constant += before_.costs[s];
    if (Pairwise::never(before_.costs[s])) after_.impossible = true;
    for (std::int32_t t = before_.from[v]; t < before_.to[v]; ++t)
      after_.room[at(t)] -= before_.usages[s];
  }

  void add_edge(const Pairwise::Edge& edge) {
    const std::size_t columns = before_.count(at(edge.b));
    const std::int32_t a = number_[at(edge.a)], b = number_[at(edge.b)];
    const std::size_t first_a = before_.first_state[at(edge.a)];
    const std::size_t first_b = before_.first_state[at(edge.b)];
    if (a >= 0 && b >= 0) after_.edges.push_back({a, b, after_.pair_costs.size()});
    std::size_t next_a = a >= 0 ? after_.first_state[at(a)] : 0;
    for (std::size_t s = 0; s < before_.count(at(edge.a)); ++s) {
      if (alive_[first_a + s] == 0) continue;
      std::size_t next_b = b >= 0 ? after_.first_state[at(b)] : 0;
      for (std::size_t t = 0; t < columns; ++t) {
        if (alive_[first_b + t] == 0) continue;
        const double cost = before_.pair_costs[edge.first + s * columns + t];
        if (a >= 0 && b >= 0) {
          after_.pair_costs.push_back(cost);
        } else {
          double& sum = a >= 0   ? after_.costs[next_a]
                        : b >= 0 ? after_.costs[next_b]
                                 : after_.constant;
          sum = std::min(Pairwise::kNever, sum + cost);
        }
        ++next_b;
      }
      ++next_a;
    }
    if (Pairwise::never(after_.constant)) after_.impossible = true;
  }

  // Sections that can be exceeded, without those whose variables all count in a
  // neighbour too, with no more room.
  void keep_sections() {
    const std::size_t count = after_.room.size();
    std::vector<Bytes> most(count + 1);
    std::vector<char> starts(count + 1), ends(count + 1);
    for (std::size_t v = 0; v < after_.size(); ++v) {
      if (after_.from[v] >= after_.to[v]) continue;
      const auto [least, largest] = std::ranges::minmax(
          std::span(after_.usages).subspan(after_.first_state[v], after_.count(v)));
      most[at(after_.from[v])] += largest;
      most[at(after_.to[v])] -= largest;
      starts[at(after_.from[v])] = ends[at(after_.to[v])] = 1;
    }
    std::vector<Bytes> room;
    // What started and ended since the last section that was kept.
    bool started = true, ended = true;
    Bytes held = 0;
    for (std::size_t t = 0; t < count; ++t) {
      held += most[t];
      started = started || starts[t] != 0;
      ended = ended || ends[t] != 0;
      if (after_.room[t] < 0) after_.impossible = true;
      if (held <= after_.room[t]) continue;
      const bool first = room.empty();
      if (!first && !started && after_.room[t] >= room.back()) continue;
      if (!first && !ended && after_.room[t] <= room.back()) {
        // The last one's variables all count here: it moves on.
        room.back() = after_.room[t];
      } else {
        room.push_back(after_.room[t]);
      }
      started = ended = false;
      last_.resize(room.size());
      last_.back() = static_cast<std::int32_t>(t);
    }
    renumber(std::move(room));
  }

  void renumber(std::vector<Bytes> room) {
    const auto number = [&](std::int32_t t) {
      return static_cast<std::int32_t>(std::ranges::lower_bound(last_, t) -
                                       last_.begin());
    };
    for (std::size_t v = 0; v < after_.size(); ++v) {
      after_.from[v] = number(after_.from[v]);
      after_.to[v] = std::max(after_.from[v], number(after_.to[v]));
    }
    after_.room = std::move(room);
  }

  const Pairwise& before_;
  const std::vector<char>& alive_;
  std::vector<std::int32_t> number_;
  std::vector<std::int32_t> last_;  // by new section: the old one it stands for
  Pairwise after_;
};

// States that are not allowed, without partners or dominated go, until none does.
Pairwise settle(Pairwise problem) {
  for (;;) {
    if (problem.impossible) return problem;
    std::vector<char> alive(problem.costs.size(), 1);
    bool changed = drop_unsupported(problem, alive);
    if (!changed) changed = drop_dominated(problem, alive);
    if (!changed) return problem;
    problem = Restriction(problem, alive).run();
  }
}

}  // namespace

Pairwise simplify(const ShardingProblem& problem) {
  const Pairwise all = pairwise_of(problem);
  // Once without a change: sections and nodes with one strategy go.
  return settle(Restriction(all, std::vector<char>(all.costs.size(), 1)).run());
}

Pairwise restrict_states(const Pairwise& problem, std::vector<char> alive) {
  return settle(Restriction(problem, alive).run());
}

std::vector<std::int32_t> strategies_of(const Pairwise& problem,
                                        std::span<const std::int32_t> states) {
  std::vector<std::int32_t> strategies = problem.fixed;
  for (std::size_t v = 0; v < problem.size(); ++v)
    strategies[at(problem.nodes[v])] =
        problem.strategies[problem.first_state[v] + at(states[v])];
  return strategies;
}

}  // namespace espalier
