#include "espalier/sharding/block_chain.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "espalier/model/error.h"
#include "espalier/sharding/eliminate.h"

namespace espalier {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

double key(Cost cost, Bytes usage, double price) {
  if (cost >= kForbidden) return kNever;
  if (price == BlockChain::kUsageAlone) return static_cast<double>(usage);
  return static_cast<double>(cost) + price * static_cast<double>(usage);
}

// By node, the last one that an edge of those before it goes to, 0 for the first; nothing
// where an edge goes back, or edges are not listed by their second node.
std::optional<std::vector<std::int32_t>> reached_by(const ShardingProblem& problem) {
  std::vector<std::int32_t> reached(problem.nodes().size(), 0);
  std::int32_t second = 0;
  for (const ShardingEdge& edge : problem.edges()) {
    if (edge.first > edge.second || edge.second < second) return std::nullopt;
    second = edge.second;
    reached[static_cast<std::size_t>(edge.first)] = second;  // never falls
  }
  std::int32_t most = 0;
  for (std::int32_t& own : reached) own = std::exchange(most, std::max(most, own));
  return reached;
}

Cost plus(Cost a, Cost b) {
  return a >= kForbidden || b >= kForbidden ? kForbidden : a + b;
}

}  // namespace

/// The best states of a block's own nodes for each pair of strategies of the cuts round
/// it. Variable 0 is the cut before, k the block's k-th node.
class BlockChain::Table {
 public:
  Table(const BlockChain& chain, const Block& block, double price)
      : nodes_(chain.problem_->nodes().subspan(block.first_node, block.nodes)),
        edges_(chain.problem_->edges().subspan(block.first_edge, block.edges)),
        before_(static_cast<std::int32_t>(block.first_node) - 1),
        states_(states(chain.entries(block), nodes_)),
        elimination_(states_) {
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      std::vector<double> values;
      for (std::size_t s = 0; s < nodes_[k].costs.size(); ++s)
        values.push_back(key(nodes_[k].costs[s], nodes_[k].usages[s], price));
      elimination_.add({k + 1}, std::move(values));
    }
    for (const ShardingEdge& edge : edges_) {
      std::vector<double> values;
      for (const Cost cost : edge.costs) values.push_back(key(cost, 0, price));
      elimination_.add({at(edge.first), at(edge.second)}, std::move(values));
    }
  }

  /// @return false where it would be too large
  [[nodiscard]] bool solve() {
    std::vector<std::size_t> inner(states_.size() - 2);
    std::iota(inner.begin(), inner.end(), std::size_t{1});
    if (!elimination_.eliminate(std::move(inner), kMostEntries)) return false;
    keys_ = elimination_.rest({0, states_.size() - 1});
    return true;
  }

  [[nodiscard]] std::size_t exits() const { return states_.back(); }
  [[nodiscard]] double key_of(std::size_t entry, std::size_t exit) const {
    return keys_[entry * exits() + exit];
  }

  /// Of the block's nodes, with the edges to them. Found once for each pair.
  const BlockWay& way(std::int32_t entry, std::int32_t exit) {
    const auto [found, made] = ways_.try_emplace({entry, exit});
    if (made) found->second = find_way(entry, exit);
    return found->second;
  }

 private:
  static std::vector<std::size_t> states(std::size_t entries,
                                         std::span<const ShardingNode> nodes) {
    std::vector<std::size_t> counts = {entries};
    for (const ShardingNode& node : nodes) counts.push_back(node.costs.size());
    return counts;
  }
  [[nodiscard]] std::size_t at(std::int32_t node) const {
    return static_cast<std::size_t>(node - before_);
  }

  [[nodiscard]] BlockWay find_way(std::int32_t entry, std::int32_t exit) const {
    std::vector<std::int32_t> chosen(states_.size(), 0);
    chosen.front() = entry;
    chosen.back() = exit;
    elimination_.complete(chosen);
    BlockWay way{{chosen.begin() + 1, chosen.end()}, {}};
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      const auto s = static_cast<std::size_t>(way.strategies[k]);
      way.cost = plus(way.cost, nodes_[k].costs[s]);
      way.usage += nodes_[k].usages[s];
    }
    for (const ShardingEdge& edge : edges_) {
      const std::size_t columns = states_[at(edge.second)];
      way.cost =
          plus(way.cost,
               edge.costs[static_cast<std::size_t>(chosen[at(edge.first)]) * columns +
                          static_cast<std::size_t>(chosen[at(edge.second)])]);
    }
    return way;
  }

  std::span<const ShardingNode> nodes_;
  std::span<const ShardingEdge> edges_;
  std::int32_t before_;
  std::vector<std::size_t> states_;
  Elimination elimination_;
  std::vector<double> keys_;
  std::map<std::pair<std::int32_t, std::int32_t>, BlockWay> ways_;
};

std::size_t BlockChain::entries(const Block& block) const {
  return block.first_node == 0 ? 1 : problem_->nodes()[block.first_node - 1].costs.size();
}

bool BlockChain::are_equal(const Block& a, const Block& b) const {
  if (a.nodes != b.nodes || a.edges != b.edges || entries(a) != entries(b)) return false;
  const auto node = [&](const Block& of, std::size_t k) {
    return kinds_->nodes[of.first_node + k];
  };
  for (std::size_t k = 0; k < a.nodes; ++k)
    if (node(a, k) != node(b, k)) return false;
  const auto apart = static_cast<std::int32_t>(b.first_node - a.first_node);
  for (std::size_t k = 0; k < a.edges; ++k) {
    const ShardingEdge& one = problem_->edges()[a.first_edge + k];
    const ShardingEdge& other = problem_->edges()[b.first_edge + k];
    if (one.first + apart != other.first || one.second + apart != other.second ||
        kinds_->edges[a.first_edge + k] != kinds_->edges[b.first_edge + k])
      return false;
  }
  return true;
}

std::uint64_t BlockChain::hash(const Block& block) const {
  std::uint64_t state = block.nodes;
  const auto add = [&state](std::int32_t kind) {
    state = (state ^ static_cast<std::uint64_t>(kind)) * 0x9E3779B97F4A7C15u;
    state ^= state >> 29;
  };
  for (std::size_t k = 0; k < block.nodes; ++k) add(kinds_->nodes[block.first_node + k]);
  for (std::size_t k = 0; k < block.edges; ++k) add(kinds_->edges[block.first_edge + k]);
  return state;
}

void BlockChain::add(const Block& block, bool fold) {
  const std::uint64_t own = fold ? hash(block) : 0;
  for (std::size_t k = 0; fold && k < blocks_.size(); ++k) {
    if (hashes_[k] != own || !are_equal(blocks_[k], block)) continue;
    number_.push_back(k);
    return;
  }
  number_.push_back(blocks_.size());
  blocks_.push_back(block);
  hashes_.push_back(own);
}

std::optional<BlockChain> BlockChain::of(const ShardingProblem& problem,
                                         const ProblemKinds& kinds, bool fold) {
  const auto reached = reached_by(problem);
  if (!reached) return std::nullopt;
  const std::span<const ShardingEdge> edges = problem.edges();
  BlockChain chain(problem, kinds);
  Block block;
  for (std::size_t k = 0; k < reached->size(); ++k) {
    if ((*reached)[k] > static_cast<std::int32_t>(k)) continue;  // no cut
    block = {block.first_node + block.nodes, 0, block.first_edge + block.edges, 0};
    block.nodes = k + 1 - block.first_node;
    std::size_t end = block.first_edge;
    while (end < edges.size() && static_cast<std::size_t>(edges[end].second) <= k) ++end;
    block.edges = end - block.first_edge;
    chain.add(block, fold);
  }
  return chain;
}

std::optional<std::vector<BlockChain::Table>> BlockChain::tables(double price) const {
  std::vector<Table> tables;
  tables.reserve(blocks_.size());
  for (const Block& block : blocks_)
    if (!tables.emplace_back(*this, block, price).solve()) return std::nullopt;
  return tables;
}

BlockWay BlockChain::whole(std::vector<Table>& tables,
                           std::vector<std::int32_t> cuts) const {
  BlockWay whole;
  whole.strategies.reserve(problem_->nodes().size());
  for (std::size_t k = 0; k < number_.size(); ++k) {
    const BlockWay& own = tables[number_[k]].way(cuts[k], cuts[k + 1]);
    whole.strategies.insert(whole.strategies.end(), own.strategies.begin(),
                            own.strategies.end());
    whole.cost = plus(whole.cost, own.cost);
    whole.usage += own.usage;
  }
  whole.cuts = std::move(cuts);
  return whole;
}

std::optional<BlockWay> BlockChain::best(double price) const {
  std::optional<std::vector<Table>> made = tables(price);
  if (!made) return std::nullopt;
  std::vector<double> least = {0}, next;
  std::vector<std::int32_t> from;  // by place in the chain, by exit
  for (const std::size_t number : number_) {
    const Table& table = (*made)[number];
    next.assign(table.exits(), kNever);
    from.resize(from.size() + table.exits(), 0);
    std::int32_t* const origin = from.data() + from.size() - table.exits();
    for (std::size_t a = 0; a < least.size(); ++a)
      for (std::size_t b = 0; b < next.size(); ++b)
        if (least[a] + table.key_of(a, b) < next[b]) {
          next[b] = least[a] + table.key_of(a, b);
          origin[b] = static_cast<std::int32_t>(a);
        }
    std::swap(least, next);
  }
  std::vector<std::int32_t> cuts(number_.size() + 1, 0);
  cuts.back() =
      static_cast<std::int32_t>(std::ranges::min_element(least) - least.begin());
  std::size_t first = from.size();
  for (std::size_t k = number_.size(); k-- > 0;) {
    first -= (*made)[number_[k]].exits();
    cuts[k] = from[first + static_cast<std::size_t>(cuts[k + 1])];
  }
  return whole(*made, std::move(cuts));
}

std::optional<BlockWay> BlockChain::cross(const BlockWay& one, const BlockWay& other,
                                          double price, Bytes limit) const {
  std::optional<std::vector<Table>> made = tables(price);
  if (!made) return std::nullopt;
  const auto way = [&](std::size_t k, std::int32_t entry, std::int32_t exit) {
    const BlockWay& own = (*made)[number_[k]].way(entry, exit);
    return std::pair{own.cost, own.usage};
  };
  // What is left of the other way behind each block.
  std::vector<std::pair<Cost, Bytes>> behind(number_.size() + 1);
  for (std::size_t k = number_.size(); k-- > 0;) {
    const auto [cost, usage] = way(k, other.cuts[k], other.cuts[k + 1]);
    behind[k] = {plus(behind[k + 1].first, cost), behind[k + 1].second + usage};
  }
  Cost cost = 0, best = kForbidden;
  Bytes usage = 0;
  std::size_t at = 0;
  for (std::size_t k = 0; k < number_.size(); ++k) {
    const auto between = way(k, one.cuts[k], other.cuts[k + 1]);
    const Cost all = plus(plus(cost, between.first), behind[k + 1].first);
    if (usage + between.second + behind[k + 1].second <= limit && all < best) {
      best = all;
      at = k;
    }
    const auto own = way(k, one.cuts[k], one.cuts[k + 1]);
    cost = plus(cost, own.first);
    usage += own.second;
  }
  if (best == kForbidden) return std::nullopt;
  std::vector<std::int32_t> cuts(other.cuts);
  std::copy_n(one.cuts.begin(), at + 1, cuts.begin());
  return whole(*made, std::move(cuts));
}

}  // namespace espalier
