#include "espalier/sharding/choose_by_blocks.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "espalier/model/replay_sharding.h"
#include "espalier/sharding/block_chain.h"

namespace espalier {

namespace {

constexpr int kPriceSteps = 40;
// Keys are sums of whole numbers below this: exact in doubles.
constexpr double kExact = 0x1p53;

class Search {
 public:
  Search(const ShardingProblem& problem, const BlockChain& chain, bool held_together)
      : problem_(problem), chain_(chain), held_together_(held_together) {}

  /// @return whether the choice is decided
  bool run() {
    const std::optional<ShardingFigures> fastest = try_price(0);
    if (!fastest || fastest->cost >= kForbidden) return false;
    if (choice_.found) return true;
    if (!held_together_) return false;
    const std::optional<ShardingFigures> lightest = try_price(BlockChain::kUsageAlone);
    if (!lightest) return false;
    choice_.lower_bound_bytes =
        choice_.least_memory_bytes.emplace(lightest->memory_bytes);
    choice_.impossible = !choice_.found;
    if (choice_.found) close_in(*fastest, *lightest);
    return choice_.proved();
  }

  [[nodiscard]] const ShardingChoice& choice() const { return choice_; }

 private:
  // Cost + price * (memory - limit) of a choice is a line over prices; of the two choices
  // known on both sides of the top of the least of all, the price of their crossing is
  // next.
  void close_in(ShardingFigures over, ShardingFigures fits) {
    for (int k = 0; k < kPriceSteps && !choice_.proved(); ++k) {
      const double price = static_cast<double>(fits.cost - over.cost) /
                           static_cast<double>(over.memory_bytes - fits.memory_bytes);
      const std::optional<ShardingFigures> next = try_price(price);
      if (!next || key(*next, price) >= key(over, price) * (1 - 0x1p-40)) return;
      (next->memory_bytes > problem_.limit() ? over : fits) = *next;
    }
  }

  static double key(const ShardingFigures& figures, double price) {
    return static_cast<double>(figures.cost) +
           price * static_cast<double>(figures.memory_bytes);
  }

  std::optional<ShardingFigures> try_price(double price) {
    std::optional<BlockWay> way = chain_.best(price);
    if (!way) return std::nullopt;
    const ShardingFigures figures =
        held_together_ ? held(*way) : replay_sharding(problem_, way->strategies);
    if (price != BlockChain::kUsageAlone) raise(figures, price);
    const bool fits =
        figures.cost < kForbidden && figures.memory_bytes <= problem_.limit();
    if (fits && (!choice_.found || figures.cost < choice_.cost)) {
      choice_.found = true;
      choice_.strategies = std::move(way->strategies);
      choice_.cost = figures.cost;
      choice_.memory_bytes = figures.memory_bytes;
    }
    return figures;
  }

  [[nodiscard]] ShardingFigures held(const BlockWay& way) const {
    const ShardingNode& first = problem_.nodes().front();
    return {way.cost, first.from < first.to ? way.usage : 0};
  }

  // Without a price the sums are exact, else a few roundings may be in them.
  void raise(const ShardingFigures& figures, double price) {
    if (price == 0) {
      choice_.lower_bound = figures.cost;
      return;
    }
    const double limit = static_cast<double>(problem_.limit());
    const double bound =
        key(figures, price) * (1 - 0x1p-40) - price * limit * (1 + 0x1p-50);
    if (bound > 0)
      choice_.lower_bound =
          std::max(choice_.lower_bound, static_cast<Cost>(std::ceil(bound)));
  }

  const ShardingProblem& problem_;
  const BlockChain& chain_;
  bool held_together_;
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
  Search search(problem, *chain, kinds.held_together);
  answer.choice = search.run()
                      ? search.choice()
                      : both(search.choice(), choose_strategies(problem, options));
  return answer;
}

}  // namespace espalier
