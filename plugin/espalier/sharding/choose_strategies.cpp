#include "espalier/sharding/choose_strategies.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "espalier/model/replay_sharding.h"
#include "espalier/sharding/branch_choice.h"
#include "espalier/sharding/improve_choice.h"
#include "espalier/sharding/incumbent.h"
#include "espalier/sharding/pairwise.h"
#include "espalier/sharding/raise_bound.h"
#include "espalier/sharding/sharding_budget.h"

namespace espalier {
namespace {

// Of the time: the first slice of bounds, and slices of choices and of bounds later.
constexpr double kBoundShare = 0.3, kImproveShare = 0.12, kRaiseShare = 0.04;
constexpr std::int32_t kIdleRounds = 400;
constexpr double kRoundsAVariable = 2;  // at most in a slice
// Of the cost: what a move may cost more at first, slice by slice.
constexpr std::array<double, 4> kHeat = {0, 1e-4, 1e-3, 2e-5};
constexpr std::int64_t kBranchEntries = 20'000'000;

// A bound is no more than the next integer, for costs are integers.
Cost whole(double bound) {
  if (bound <= 0) return 0;
  const double up = std::ceil(bound);
  return up >= static_cast<double>(kForbidden) ? kForbidden : static_cast<Cost>(up);
}

// Each node as it holds least, of equal ones what costs less.
std::vector<std::int32_t> strategies_that_hold_least(const ShardingProblem& problem) {
  std::vector<std::int32_t> strategies;
  for (const ShardingNode& node : problem.nodes()) {
    std::size_t least = 0;
    for (std::size_t s = 1; s < node.usages.size(); ++s)
      if (std::pair(node.usages[s], node.costs[s]) <
          std::pair(node.usages[least], node.costs[least]))
        least = s;
    strategies.push_back(static_cast<std::int32_t>(least));
  }
  return strategies;
}

class Chooser {
 public:
  Chooser(const ShardingProblem& problem, const ShardingOptions& options)
      : problem_(&problem), seed_(options.seed), budget_(options), incumbent_(problem) {
    pairwise_ = simplify(problem);
  }

  ShardingChoice run() {
    bool complete = pairwise_.impossible;
    if (!complete && pairwise_.size() == 0) {
      incumbent_.offer(pairwise_, {});
      complete = true;
    }
    if (!complete) complete = search();
    return answer(complete);
  }

 private:
  // Whether the bound meets the best choice, or what any choice could cost at most.
  bool closed() {
    if (incumbent_.found()) {
      budget_.state.found = true;
      budget_.state.cost = incumbent_.cost();
    }
    budget_.state.lower_bound = lower_bound_ = std::max(lower_bound_, whole(bound_));
    return incumbent_.cost() <= lower_bound_;
  }

  // One slice of the time after the other: the bound first, then choices and the bound in
  // turn. What is small is decided by branching once neither helps.
  bool search() {
    BoundRaiser raiser(pairwise_, seed_);
    const bool small = std::ssize(pairwise_.pair_costs) < kBranchEntries / 10;
    for (std::int64_t slice = 0;; ++slice) {
      const double share = slice == 0 ? kBoundShare : kRaiseShare;
      if (raise(raiser, budget_.share() + share)) return true;
      if (budget_.was_spent()) return false;
      const Cost before = incumbent_.cost();
      if (improve(raiser, slice)) return true;
      if (budget_.was_spent()) return false;
      if (!small || incumbent_.cost() < before) continue;
      const std::span<const double> multipliers = raiser.multipliers();
      if (branch_choice(pairwise_, multipliers, kBranchEntries, incumbent_, budget_))
        return true;
      if (budget_.was_spent()) return false;
    }
  }

  bool raise(BoundRaiser& raiser, double until) {
    std::int32_t rounds = 0;
    do {
      raiser.round(incumbent_);
      bound_ = std::max(bound_, raiser.bound());
      if (closed()) return true;
    } while (!budget_.spend() && budget_.share() < until &&
             (raiser.idle_rounds() < kIdleRounds || ++rounds < kIdleRounds / 4));
    return false;
  }

  // From the best choice, or from what the bound's multipliers lead to, cooling down.
  bool improve(const BoundRaiser& raiser, std::int64_t slice) {
    std::optional<std::vector<std::int32_t>> best;
    if (slice % 3 != 2) best = incumbent_.states_in(pairwise_);
    if (!best) best.emplace(raiser.states().begin(), raiser.states().end());
    ChoiceImprover improver(pairwise_, std::move(*best), raiser.multipliers(),
                            raiser.prices(), seed_ + std::uint64_t(slice));
    const double begin = budget_.share();
    const auto rounds =
        static_cast<std::int64_t>(kRoundsAVariable * double(pairwise_.size()));
    const double hot = kHeat[slice % std::ssize(kHeat)];
    for (std::int64_t round = 0;; ++round) {
      if (budget_.spend()) return false;
      const double done = std::max((budget_.share() - begin) / kImproveShare,
                                   double(round) / double(rounds + 10));
      if (done >= 1) return false;
      const double cost = static_cast<double>(incumbent_.cost());
      improver.round(incumbent_, done < 0.8 ? hot * cost * (1 - done / 0.8) : 0);
      if (closed()) return true;
    }
  }

  ShardingChoice answer(bool complete) {
    ShardingChoice choice;
    std::vector<std::int32_t> least = strategies_that_hold_least(*problem_);
    choice.lower_bound_bytes = replay_sharding(*problem_, least).memory_bytes;
    // Where the search ended too soon that may be within the limit; where nothing is, it
    // is the least that suffices, if it is allowed.
    if (!incumbent_.found()) incumbent_.offer(std::move(least));
    (void)closed();
    choice.found = incumbent_.found();
    choice.lower_bound = lower_bound_;
    choice.stopped = !complete;
    choice.impossible = complete && !choice.found;
    choice.least_memory_bytes = incumbent_.least_memory_bytes();
    if (choice.found) {
      choice.strategies.assign(incumbent_.strategies().begin(),
                               incumbent_.strategies().end());
      choice.cost = incumbent_.cost();
      choice.memory_bytes = incumbent_.memory_bytes();
      if (complete) choice.lower_bound = choice.cost;
      choice.lower_bound = std::min(choice.lower_bound, choice.cost);
    }
    return choice;
  }

  const ShardingProblem* problem_;
  std::uint64_t seed_;
  ShardingBudget budget_;
  Pairwise pairwise_;
  Incumbent incumbent_;
  double bound_ = 0;
  Cost lower_bound_ = 0;
};

}  // namespace

ShardingChoice choose_strategies(const ShardingProblem& problem,
                                 const ShardingOptions& options) {
  return Chooser(problem, options).run();
}

}  // namespace espalier
