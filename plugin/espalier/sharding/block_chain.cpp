#include "espalier/sharding/block_chain.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "espalier/sharding/eliminate.h"

namespace espalier {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

class Hash {
 public:
  template <class T>
  void add(const T& values) {
    for (const auto value : values) add_one(static_cast<std::uint64_t>(value));
  }
  void add_one(std::uint64_t value) {
    state_ = (state_ ^ value) * 0x9E3779B97F4A7C15u;
    state_ ^= state_ >> 29;
  }
  [[nodiscard]] std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0x243F6A8885A308D3u;
};

double key(Cost cost, Bytes usage, double price) {
  if (cost >= kForbidden) return kNever;
  if (price == BlockChain::kUsageAlone) return static_cast<double>(usage);
  return static_cast<double>(cost) + price * static_cast<double>(usage);
}

// Cuts in ascending order; the last node is one.
std::vector<std::size_t> cuts_of(const ShardingProblem& problem) {
  std::vector<std::size_t> farthest(problem.nodes().size());
  std::iota(farthest.begin(), farthest.end(), std::size_t{0});
  for (const ShardingEdge& edge : problem.edges()) {
    std::size_t& own = farthest[static_cast<std::size_t>(edge.first)];
    own = std::max(own, static_cast<std::size_t>(edge.second));
  }
  std::vector<std::size_t> cuts;
  std::size_t reached = 0;  // by edges of the nodes before
  for (std::size_t k = 0; k < farthest.size(); ++k) {
    if (reached <= k) cuts.push_back(k);
    reached = std::max(reached, farthest[k]);
  }
  return cuts;
}

/// Best states of a block's own nodes for each pair of strategies of the cuts round it.
class BlockTable {
 public:
  BlockTable(std::size_t entries, std::span<const ShardingNode> nodes, double price)
      : states_(states(entries, nodes)), elimination_(states_) {
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      std::vector<double> values;
      for (std::size_t s = 0; s < nodes[k].costs.size(); ++s)
        values.push_back(key(nodes[k].costs[s], nodes[k].usages[s], price));
      elimination_.add({k + 1}, std::move(values));
    }
  }

  void add_edge(std::size_t first, std::size_t second, std::span<const Cost> costs,
                double price) {
    std::vector<double> values;
    for (const Cost cost : costs) values.push_back(key(cost, 0, price));
    elimination_.add({first, second}, std::move(values));
  }

  /// @return false where it would be too large
  [[nodiscard]] bool solve() {
    std::vector<std::size_t> inner(states_.size() - 2);
    std::iota(inner.begin(), inner.end(), std::size_t{1});
    if (!elimination_.eliminate(std::move(inner), BlockChain::kMostEntries)) return false;
    table_ = elimination_.rest({0, states_.size() - 1});
    return true;
  }

  [[nodiscard]] std::size_t exits() const { return states_.back(); }
  [[nodiscard]] double at(std::size_t entry, std::size_t exit) const {
    return table_[entry * exits() + exit];
  }
  /// Strategies of the block's nodes.
  [[nodiscard]] std::vector<std::int32_t> strategies(std::int32_t entry,
                                                     std::int32_t exit) const {
    std::vector<std::int32_t> chosen(states_.size(), 0);
    chosen.front() = entry;
    chosen.back() = exit;
    elimination_.complete(chosen);
    return {chosen.begin() + 1, chosen.end()};
  }

 private:
  static std::vector<std::size_t> states(std::size_t entries,
                                         std::span<const ShardingNode> nodes) {
    std::vector<std::size_t> counts = {entries};
    for (const ShardingNode& node : nodes) counts.push_back(node.costs.size());
    return counts;
  }

  std::vector<std::size_t> states_;
  Elimination elimination_;
  std::vector<double> table_;
};

// The least way through the cuts: for each place in the chain the strategy of its cut.
std::vector<std::int32_t> way_through(const std::vector<const BlockTable*>& chain) {
  std::vector<double> best = {0};
  std::vector<std::vector<std::int32_t>> from;
  for (const BlockTable* table : chain) {
    std::vector<double> next(table->exits(), kNever);
    std::vector<std::int32_t>& origin = from.emplace_back(table->exits(), 0);
    for (std::size_t a = 0; a < best.size(); ++a)
      for (std::size_t b = 0; b < next.size(); ++b)
        if (best[a] + table->at(a, b) < next[b]) {
          next[b] = best[a] + table->at(a, b);
          origin[b] = static_cast<std::int32_t>(a);
        }
    best = std::move(next);
  }
  std::vector<std::int32_t> way(chain.size() + 1, 0);
  way.back() = static_cast<std::int32_t>(std::ranges::min_element(best) - best.begin());
  for (std::size_t k = chain.size(); k-- > 0;)
    way[k] = from[k][static_cast<std::size_t>(way[k + 1])];
  return way;
}

}  // namespace

bool BlockChain::Edge::equals(const Edge& other) const {
  return first == other.first && second == other.second &&
         std::ranges::equal(costs, other.costs);
}

bool BlockChain::Block::equals(const Block& other) const {
  const auto same = [](const ShardingNode& a, const ShardingNode& b) { return a == b; };
  const auto alike = [](const Edge& a, const Edge& b) { return a.equals(b); };
  return entries == other.entries && std::ranges::equal(nodes, other.nodes, same) &&
         std::ranges::equal(edges, other.edges, alike);
}

std::uint64_t BlockChain::Block::hash() const {
  Hash hash;
  hash.add_one(entries);
  for (const ShardingNode& node : nodes) {
    hash.add(node.costs);
    hash.add(node.usages);
  }
  for (const Edge& edge : edges) {
    hash.add_one(edge.first);
    hash.add_one(edge.second);
    hash.add(edge.costs);
  }
  return hash.value();
}

void BlockChain::add(Block block, bool fold) {
  const std::uint64_t hash = fold ? block.hash() : 0;
  for (std::size_t k = 0; fold && k < blocks_.size(); ++k) {
    if (hashes_[k] != hash || !blocks_[k].equals(block)) continue;
    number_.push_back(k);
    return;
  }
  number_.push_back(blocks_.size());
  blocks_.push_back(std::move(block));
  hashes_.push_back(hash);
}

std::optional<BlockChain> BlockChain::of(const ShardingProblem& problem, bool fold) {
  for (const ShardingEdge& edge : problem.edges())
    if (edge.first > edge.second) return std::nullopt;
  const std::vector<std::size_t> cuts = cuts_of(problem);
  std::vector<std::vector<Edge>> edges(cuts.size());
  for (const ShardingEdge& edge : problem.edges()) {
    const auto second = static_cast<std::size_t>(edge.second);
    const auto block =
        static_cast<std::size_t>(std::ranges::lower_bound(cuts, second) - cuts.begin());
    // Nodes of a block count from the one after the cut before it, which is 0.
    const std::size_t before = block == 0 ? 0 : cuts[block - 1] + 1;
    edges[block].push_back({static_cast<std::size_t>(edge.first) + 1 - before,
                            second + 1 - before, edge.costs});
  }
  BlockChain chain;
  for (std::size_t k = 0; k < cuts.size(); ++k) {
    const std::size_t first = k == 0 ? 0 : cuts[k - 1] + 1;
    const std::size_t entries = k == 0 ? 1 : problem.nodes()[first - 1].costs.size();
    chain.add({entries, problem.nodes().subspan(first, cuts[k] + 1 - first),
               std::move(edges[k])},
              fold);
  }
  return chain;
}

std::optional<std::vector<std::int32_t>> BlockChain::best(double price) const {
  std::vector<BlockTable> tables;
  tables.reserve(blocks_.size());
  for (const Block& block : blocks_) {
    BlockTable& table = tables.emplace_back(block.entries, block.nodes, price);
    for (const Edge& edge : block.edges)
      table.add_edge(edge.first, edge.second, edge.costs, price);
    if (!table.solve()) return std::nullopt;
  }
  std::vector<const BlockTable*> chain;
  for (const std::size_t number : number_) chain.push_back(&tables[number]);
  const std::vector<std::int32_t> way = way_through(chain);
  std::vector<std::int32_t> strategies;
  for (std::size_t k = 0; k < chain.size(); ++k) {
    const auto own = chain[k]->strategies(way[k], way[k + 1]);
    strategies.insert(strategies.end(), own.begin(), own.end());
  }
  return strategies;
}

}  // namespace espalier
