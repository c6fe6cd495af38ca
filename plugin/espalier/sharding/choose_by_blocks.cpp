#include "espalier/sharding/choose_by_blocks.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "espalier/model/replay_sharding.h"
#include "espalier/sharding/block_chain.h"
#include "espalier/sharding/block_fronts.h"
#include "espalier/sharding/close_gap.h"
#include "espalier/sharding/sharding_budget.h"

namespace espalier {

namespace {

constexpr int kPriceSteps = 40;
// Keys are sums of whole numbers below this: exact in doubles.
constexpr double kExact = 0x1p53;

class BlockSearch {
 public:
  BlockSearch(const ShardingProblem& problem, const BlockChain& chain, bool held_together,
              ShardingBudget& budget)
      : problem_(problem),
        chain_(chain),
        held_together_(held_together),
        budget_(budget) {}

  /// @return whether the choice is decided
  bool run() {
    const std::optional<BlockWay> fastest = try_price(0);
    if (!fastest || fastest->cost >= kForbidden) return false;
    if (choice_.found) return true;
    if (!held_together_) return false;
    const std::optional<BlockWay> lightest = try_price(BlockChain::kUsageAlone);
    if (!lightest) return false;
    choice_.lower_bound_bytes = choice_.least_memory_bytes.emplace(lightest->usage);
    choice_.impossible = !choice_.found;
    if (!choice_.found) return true;
    const double price = close_in(*fastest, *lightest);
    if (!choice_.proved() && price > 0) look_between(price);
    return choice_.proved();
  }

  [[nodiscard]] const ShardingChoice& choice() const { return choice_; }

 private:
  // Cost + price * (memory - limit) of a choice is a line over prices; of the two choices
  // known on both sides of the top of the least of all, the price of their crossing is
  // next. What lies between the last two is looked at in the end. @return the last price
  double close_in(BlockWay over, BlockWay fits) {
    double price = 0;
    for (int k = 0; k < kPriceSteps && !choice_.proved(); ++k) {
      price = static_cast<double>(fits.cost - over.cost) /
              static_cast<double>(over.usage - fits.usage);
      std::optional<BlockWay> next = try_price(price);
      if (!next) return 0;
      if (key(*next, price) >= key(over, price) * (1 - 0x1p-40)) break;
      (next->usage > problem_.limit() ? over : fits) = std::move(*next);
    }
    for (const bool over_first : {true, false}) {
      auto between = chain_.cross(over_first ? over : fits, over_first ? fits : over,
                                  price, problem_.limit());
      if (between) offer(std::move(*between));
    }
    return price;
  }

  // What lies between the bound and the best choice: all of it, unless it is too much.
  void look_between(double price) {
    const std::optional<BlockFronts> fronts = BlockFronts::of(chain_);
    if (!fronts) return;
    const auto take = [&](const PlanTables& tables, const PlanPoint& plan) {
      BlockWay way{fronts->strategies(tables, plan), {}};
      way.cost = plan.cost;
      way.usage = plan.memory;
      offer(std::move(way));
    };
    const CostGap gap =
        close_gap({choice_.cost, choice_.lower_bound}, price, problem_.limit(),
                  {[&](PlanTables& tables) { return fronts->whole(tables); }, take,
                   [this] { return !budget_.spend(); }});
    choice_.lower_bound = gap.lower_bound;
  }

  static double key(const BlockWay& way, double price) {
    return static_cast<double>(way.cost) + price * static_cast<double>(way.usage);
  }

  std::optional<BlockWay> try_price(double price) {
    std::optional<BlockWay> way = chain_.best(price);
    if (!way) return std::nullopt;
    if (price != BlockChain::kUsageAlone) raise(*way, price);
    offer(*way);
    return way;
  }

  void offer(BlockWay way) {
    const Bytes held = held_by(way);
    if (way.cost >= kForbidden || held > problem_.limit()) return;
    if (choice_.found && way.cost >= choice_.cost) return;
    choice_.found = true;
    choice_.strategies = std::move(way.strategies);
    choice_.cost = way.cost;
    choice_.memory_bytes = held;
  }

  [[nodiscard]] Bytes held_by(const BlockWay& way) const {
    if (!held_together_) return replay_sharding(problem_, way.strategies).memory_bytes;
    const ShardingNode& first = problem_.nodes().front();
    return first.from < first.to ? way.usage : 0;
  }

  // Without a price the sums are exact, else a few roundings may be in them.
  void raise(const BlockWay& way, double price) {
    if (price == 0) {
      choice_.lower_bound = way.cost;
      return;
    }
    const double limit = static_cast<double>(problem_.limit());
    const double bound = key(way, price) * (1 - 0x1p-40) - price * limit * (1 + 0x1p-50);
    if (bound > 0)
      choice_.lower_bound =
          std::max(choice_.lower_bound, static_cast<Cost>(std::ceil(bound)));
  }

  const ShardingProblem& problem_;
  const BlockChain& chain_;
  bool held_together_;
  ShardingBudget& budget_;
  ShardingChoice choice_;
};

// The better one of two choices, with the better one of two bounds.
ShardingChoice both(const ShardingChoice& chain, ShardingChoice other) {
  const Cost bound = std::max(chain.lower_bound, other.lower_bound);
  if (chain.found && (!other.found || chain.cost < other.cost)) {
    other.found = true;
    other.strategies = chain.strategies;
    other.cost = chain.cost;
    other.memory_bytes = chain.memory_bytes;
  }
  other.lower_bound = other.found ? std::min(bound, other.cost) : bound;
  return other;
}

}  // namespace

BlockedChoice choose_by_blocks(const ShardingProblem& problem, const ProblemKinds& kinds,
                               const ShardingOptions& options, bool fold) {
  BlockedChoice answer;
  const std::optional<BlockChain> chain =
      problem.nodes().empty() ? std::nullopt : BlockChain::of(problem, kinds, fold);
  if (!chain || kinds.most_cost >= kExact) {
    answer.choice = choose_strategies(problem, options);
    return answer;
  }
  answer.blocks = chain->size();
  answer.distinct_blocks = chain->distinct();
  ShardingBudget budget(options);
  BlockSearch search(problem, *chain, kinds.held_together, budget);
  if (search.run()) {
    answer.choice = search.choice();
    return answer;
  }
  ShardingOptions left = options;
  left.time = std::max(0.0, options.time - budget.seconds());
  answer.choice = both(search.choice(), choose_strategies(problem, left));
  return answer;
}

}  // namespace espalier
