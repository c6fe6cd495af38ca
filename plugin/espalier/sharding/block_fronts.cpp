#include "espalier/sharding/block_fronts.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "espalier/model/error.h"
#include "espalier/sharding/eliminate.h"

namespace espalier {
namespace {

using Scope = std::vector<std::size_t>;

// Strategies of the cut before a block, and of each of its nodes.
std::vector<std::size_t> states_of(const BlockChain& chain,
                                   const BlockChain::Block& block) {
  std::vector<std::size_t> states = {chain.entries(block)};
  for (const ShardingNode& node :
       chain.problem().nodes().subspan(block.first_node, block.nodes))
    states.push_back(node.costs.size());
  return states;
}

// Ends of an edge as numbers of these.
Scope scope_of(const BlockChain::Block& block, const ShardingEdge& edge) {
  const auto variable = [&](std::int32_t node) {
    return static_cast<std::size_t>(node) + 1 - block.first_node;
  };
  return {variable(edge.first), variable(edge.second)};
}

std::optional<Scope> order_of(const BlockChain& chain, const BlockChain::Block& block) {
  const std::vector<std::size_t> states = states_of(chain, block);
  Elimination elimination(states);
  for (const ShardingEdge& edge :
       chain.problem().edges().subspan(block.first_edge, block.edges))
    elimination.add(scope_of(block, edge), std::vector<double>(edge.costs.size(), 0));
  Scope inner;
  for (std::size_t v = 1; v + 1 < states.size(); ++v) inner.push_back(v);
  if (!elimination.eliminate(std::move(inner), BlockFronts::kMostEntries))
    return std::nullopt;
  return elimination.order();
}

/// A block's tables, put together until only the cuts round it are left.
class BlockTables {
 public:
  BlockTables(PlanTables& tables, const BlockChain& chain, const BlockChain::Block& block)
      : tables_(tables), states_(states_of(chain, block)) {
    const ShardingProblem& problem = chain.problem();
    for (std::size_t k = 0; k < block.nodes; ++k)
      add_node(k, problem.nodes()[block.first_node + k]);
    for (const ShardingEdge& edge :
         problem.edges().subspan(block.first_edge, block.edges))
      add_edge(scope_of(block, edge), edge);
  }

  void take_out(std::size_t variable) {
    std::vector<Factor> own = reading(variable);
    Factor all = std::move(own.back());
    own.pop_back();
    if (own.empty()) own.push_back(zeros({}));
    while (!own.empty()) {
      const bool last = own.size() == 1;
      all = join(own.back(), all, last ? std::optional(variable) : std::nullopt);
      own.pop_back();
    }
    factors_.push_back(std::move(all));
  }

  [[nodiscard]] PlanTable rest() {
    Factor all = zeros({0, states_.size() - 1});
    for (const Factor& factor : factors_) all = join(all, factor, std::nullopt);
    return std::move(all.table);
  }

 private:
  struct Factor {
    Scope scope;
    PlanTable table;
  };

  [[nodiscard]] std::vector<std::size_t> shape(const Scope& scope) const {
    std::vector<std::size_t> shape;
    for (const std::size_t v : scope) shape.push_back(states_[v]);
    return shape;
  }

  Factor zeros(Scope scope) {
    std::size_t entries = 1;
    for (const std::size_t v : scope) entries *= states_[v];
    PlanTable table = tables_.given(
        shape(scope), std::vector<PlanFront>(entries, PlanFront{PlanPoint()}));
    return {std::move(scope), std::move(table)};
  }

  void add_node(std::size_t k, const ShardingNode& node) {
    std::vector<PlanFront> plans;
    for (std::size_t s = 0; s < node.costs.size(); ++s) {
      PlanFront& front = plans.emplace_back();
      if (node.costs[s] < kForbidden)
        front.push_back(
            {node.costs[s], node.usages[s],
             tables_.leaf(static_cast<std::int32_t>(k), static_cast<std::int32_t>(s))});
    }
    const Scope scope = {k + 1};
    factors_.push_back({scope, tables_.given(shape(scope), std::move(plans))});
  }

  void add_edge(const Scope& scope, const ShardingEdge& edge) {
    std::vector<PlanFront> plans;
    for (const Cost cost : edge.costs) {
      PlanFront& front = plans.emplace_back();
      if (cost < kForbidden) front.push_back({cost, 0});
    }
    factors_.push_back({scope, tables_.given(shape(scope), std::move(plans))});
  }

  // Out of the factors, those that read the variable; the smallest last.
  std::vector<Factor> reading(std::size_t variable) {
    const auto begin = std::stable_partition(
        factors_.begin(), factors_.end(), [variable](const Factor& factor) {
          return !std::ranges::binary_search(factor.scope, variable);
        });
    std::vector<Factor> own(std::make_move_iterator(begin),
                            std::make_move_iterator(factors_.end()));
    factors_.erase(begin, factors_.end());
    std::ranges::stable_sort(own, std::ranges::greater(), [](const Factor& factor) {
      return factor.table.fronts.size();
    });
    return own;
  }

  Factor join(const Factor& a, const Factor& b, std::optional<std::size_t> without) {
    Scope both;
    std::ranges::set_union(a.scope, b.scope, std::back_inserter(both));
    if (without) std::erase(both, *without);
    TableJoin how;
    how.extents = shape(both);
    how.kept = both.size();
    if (without) how.extents.push_back(states_[*without]);
    const auto place = [&](std::size_t v) {
      return without && v == *without
                 ? how.kept
                 : static_cast<std::size_t>(std::ranges::lower_bound(both, v) -
                                            both.begin());
    };
    std::ranges::transform(a.scope, std::back_inserter(how.first), place);
    std::ranges::transform(b.scope, std::back_inserter(how.second), place);
    return {both, tables_.join(a.table, b.table, std::move(how))};
  }

  PlanTables& tables_;
  std::vector<std::size_t> states_;
  std::vector<Factor> factors_;
};

}  // namespace

BlockFronts::BlockFronts(const BlockChain& chain)
    : chain_(&chain), runs_(repeated_runs(chain.sequence())) {}

std::optional<BlockFronts> BlockFronts::of(const BlockChain& chain) {
  BlockFronts fronts(chain);
  for (const BlockChain::Block& block : chain.blocks()) {
    std::optional<Scope> order = order_of(chain, block);
    if (!order) return std::nullopt;
    fronts.orders_.push_back(std::move(*order));
  }
  return fronts;
}

PlanTable BlockFronts::table(PlanTables& tables, std::size_t number) const {
  BlockTables own(tables, *chain_, chain_->blocks()[number]);
  for (const std::size_t variable : orders_[number]) own.take_out(variable);
  return own.rest();
}

PlanTable BlockFronts::whole(PlanTables& tables) const {
  std::vector<PlanTable> blocks;
  for (std::size_t k = 0; k < chain_->distinct(); ++k) blocks.push_back(table(tables, k));
  const auto number = [this](std::size_t place) { return chain_->sequence()[place]; };
  std::optional<PlanTable> whole;
  for (const RepeatedRun& run : runs_) {
    PlanTable stretch = blocks[number(run.first)];
    for (std::size_t k = run.first + 1; k < run.first + run.period; ++k)
      stretch = tables.chain(stretch, blocks[number(k)]);
    stretch = tables.repeat(stretch, static_cast<std::int64_t>(run.count));
    whole = whole ? tables.chain(*whole, stretch) : std::move(stretch);
  }
  return std::move(*whole);
}

std::vector<std::int32_t> BlockFronts::strategies(const PlanTables& tables,
                                                  const PlanPoint& plan) const {
  const std::vector<PlanTables::Step> steps = tables.steps(plan.origin);
  std::vector<std::int32_t> strategies(steps.size());
  std::size_t first = 0;
  for (const std::size_t number : chain_->sequence()) {
    const std::size_t nodes = chain_->blocks()[number].nodes;
    for (std::size_t k = first; k < first + nodes; ++k)
      strategies[first + static_cast<std::size_t>(steps[k].op)] = steps[k].way;
    first += nodes;
  }
  ESPALIER_ASSERT(first == steps.size(), "a way for each node");
  return strategies;
}

}  // namespace espalier
