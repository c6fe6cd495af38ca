#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "espalier/model/sharding_problem.h"

namespace espalier {

/// A sharding problem as the searches want it: variables with states, at most one edge
/// between two variables, nothing that is already decided, and of time only the sections
/// at which the limit can be exceeded.
///
/// A variable stands for a node, and for nodes that follow it: whose strategies are given
/// by its state. A section stands for a time at which more may be held than there is room
/// for; what a variable holds counts in sections [from, to), a few times over where it
/// stands for several nodes. What has one state left is `fixed`: its cost is in
/// `constant`, its edges in the costs of its neighbours, and `room` is less.
/// Costs are doubles here; the exact sum is replay_sharding()'s.
struct Pairwise {
  struct Edge {
    std::int32_t a = 0, b = 0;
    std::size_t first = 0;  // pair_costs[first + s * count(b) + t]
  };
  struct Link {
    std::int32_t edge = 0, other = 0;
    bool is_a = false;  // whether the variable is the edge's a
  };
  struct Hold {
    std::int32_t from = 0, to = 0;
    std::size_t first = 0;  // usages[first + s]
  };
  struct Member {
    std::int32_t node = 0;
    std::size_t first = 0;  // strategies[first + s]
  };

  /// Costs of what is not allowed: more than any sum of what is.
  static constexpr double kNever = 4e18;
  [[nodiscard]] static bool never(double cost) { return cost > 2e18; }

  std::vector<std::size_t> first_state = {0};  // by variable, and the end
  std::vector<double> costs;                   // by state
  std::vector<std::size_t> first_hold = {0};   // by variable, and the end
  std::vector<Hold> holds;
  std::vector<Bytes> usages;                    // by hold and state
  std::vector<std::size_t> first_member = {0};  // by variable, and the end
  std::vector<Member> members;                  // the first decides on the others
  std::vector<std::int32_t> strategies;         // by member and state: in the problem
  std::vector<Edge> edges;
  std::vector<double> pair_costs;
  std::vector<std::size_t> first_link = {0};
  std::vector<Link> links;
  std::vector<Bytes> room;          // by section
  std::vector<std::int32_t> fixed;  // by node of the problem: a strategy, or -1
  double constant = 0;
  /// Something has no state left, or no room.
  bool impossible = false;

  [[nodiscard]] std::size_t size() const { return first_state.size() - 1; }
  [[nodiscard]] std::size_t count(std::size_t v) const {
    return first_state[v + 1] - first_state[v];
  }
  [[nodiscard]] std::span<const Link> links_of(std::size_t v) const {
    return std::span(links).subspan(first_link[v], first_link[v + 1] - first_link[v]);
  }
  [[nodiscard]] std::span<const Hold> holds_of(std::size_t v) const {
    return std::span(holds).subspan(first_hold[v], first_hold[v + 1] - first_hold[v]);
  }
  [[nodiscard]] std::span<const Member> members_of(std::size_t v) const {
    return std::span(members).subspan(first_member[v],
                                      first_member[v + 1] - first_member[v]);
  }
  /// Sets the links from the edges.
  void link();
  /// What a byte costs in each hold, where the limit of section t has a price.
  [[nodiscard]] std::vector<double> prices_of(std::span<const double> multipliers) const;
  /// Of a state (number within its variable), for prices by hold.
  [[nodiscard]] double price(std::size_t v, std::size_t s, std::span<const double> prices,
                             double scale = 1) const {
    double sum = 0;
    for (std::size_t h = first_hold[v]; h < first_hold[v + 1]; ++h)
      sum += prices[h] * scale * static_cast<double>(usages[holds[h].first + s]);
    return sum;
  }
  /// Cost of the edge for state s of the link's own variable and t of the other.
  [[nodiscard]] double pair_cost(const Link& link, std::size_t s, std::size_t t) const {
    const Edge& edge = edges[static_cast<std::size_t>(link.edge)];
    const std::size_t columns = count(static_cast<std::size_t>(edge.b));
    return pair_costs[edge.first + (link.is_a ? s * columns + t : t * columns + s)];
  }
};

/// The problem without what can never be part of an optimum: states that are not allowed
/// or have no partner across an edge, and states that another one of the same variable
/// replaces at no more cost and memory whatever the rest is; and with nodes that follow
/// another one joined to it (join_followers()). One optimum at least is kept.
/// @par Cost  a few sweeps over all pair costs; O(pairs of states) a variable for
///            dominance, which is left out for variables of over 200 states
[[nodiscard]] Pairwise simplify(const ShardingProblem& problem);

/// What is left of a problem when only the marked states are (`alive` by state).
[[nodiscard]] Pairwise restrict_states(const Pairwise& problem, std::vector<char> alive);

/// Strategies by node of the problem, from a state (number within its variable) each.
[[nodiscard]] std::vector<std::int32_t> strategies_of(
    const Pairwise& problem, std::span<const std::int32_t> states);

}  // namespace espalier
