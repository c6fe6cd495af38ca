#include "espalier/model/sharding_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "espalier/model/error.h"

namespace espalier {
namespace {

constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max();

/// What an error names; no text is made where there is none.
struct Item {
  const char* kind;
  std::size_t number;
  [[nodiscard]] std::string name() const { return fmt::format("{} {}", kind, number); }
};

void check_count(std::size_t count, const std::string& of) {
  if (count > kMost)
    throw InvalidInput(fmt::format("{} {} are more than {}", count, of, kMost));
}

// The largest allowed cost; what is not allowed does not count.
Cost largest_allowed(std::span<const Cost> costs, const Item& of) {
  Cost most = 0;
  for (const Cost cost : costs) {
    if (cost < 0)
      throw InvalidInput(fmt::format("{}: the cost {} is negative", of.name(), cost));
    if (cost < kForbidden) most = std::max(most, cost);
  }
  return most;
}

void add_cost(Cost& sum, Cost cost, const Item& of) {
  sum += cost;  // both are below kForbidden
  if (sum >= kForbidden)
    throw OverflowError(fmt::format(
        "{}: with its largest cost {} the sum of all largest costs reaches {}", of.name(),
        cost, kForbidden));
}

void check_node(const ShardingNode& node, const Item& item, Bytes& total) {
  if (node.costs.empty()) throw InvalidInput(item.name() + " has no strategies");
  if (node.costs.size() > kMost)
    check_count(node.costs.size(), "strategies of " + item.name());
  if (node.usages.size() != node.costs.size())
    throw InvalidInput(fmt::format("{} has {} usages for {} strategies", item.name(),
                                   node.usages.size(), node.costs.size()));
  const auto [least, most] = std::ranges::minmax(node.usages);
  if (least < 0)
    throw InvalidInput(fmt::format("{}: the usage {} is negative", item.name(), least));
  if (__builtin_add_overflow(total, most, &total))
    throw OverflowError(
        fmt::format("{}: with its usage {} the sum of all usages leaves the 64-bit range",
                    item.name(), most));
}

}  // namespace

ShardingProblem::ShardingProblem(std::vector<ShardingNode> nodes,
                                 std::vector<ShardingEdge> edges, Bytes limit)
    : nodes_(std::move(nodes)), edges_(std::move(edges)), limit_(limit) {
  check_count(nodes_.size(), "nodes");
  check_count(edges_.size(), "edges");
  if (limit < 0) throw InvalidInput(fmt::format("the limit {} is negative", limit));
  Bytes total = 0;
  Cost cost = 0;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Item item{"node", i};
    check_node(nodes_[i], item, total);
    add_cost(cost, largest_allowed(nodes_[i].costs, item), item);
  }
  for (std::size_t e = 0; e < edges_.size(); ++e) {
    const ShardingEdge& edge = edges_[e];
    const Item item{"edge", e};
    for (const std::int32_t end : {edge.first, edge.second}) {
      if (end < 0 || static_cast<std::size_t>(end) >= nodes_.size())
        throw InvalidInput(fmt::format("{}: there is no node {} among {}", item.name(),
                                       end, nodes_.size()));
    }
    if (edge.first == edge.second)
      throw InvalidInput(
          fmt::format("{} joins node {} to itself", item.name(), edge.first));
    const std::size_t pairs = nodes_[static_cast<std::size_t>(edge.first)].costs.size() *
                              nodes_[static_cast<std::size_t>(edge.second)].costs.size();
    if (edge.costs.size() != pairs)
      throw InvalidInput(fmt::format("{} has {} costs for {} pairs of strategies",
                                     item.name(), edge.costs.size(), pairs));
    add_cost(cost, largest_allowed(edge.costs, item), item);
  }
}

}  // namespace espalier
