#include "espalier/sharding/choose_strategies.h"

#include <algorithm>
#include <cmath>
#include <optional>
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

// Of the time: when raising the bound ends at the latest, and when improving does where
// a depth-first search may still prove.
constexpr double kBoundShare = 0.4;
constexpr double kImproveShare = 0.7;
constexpr std::int32_t kIdleRounds = 60;
constexpr std::int64_t kBranchEntries = 20'000'000;

// A bound is no more than the next integer, for costs are integers.
Cost whole(double bound) {
  if (bound <= 0) return 0;
  const double up = std::ceil(bound);
  return up >= static_cast<double>(kForbidden) ? kForbidden : static_cast<Cost>(up);
}

// The most that is held where each node holds its least.
Bytes least_held(const ShardingProblem& problem) {
  std::vector<std::int32_t> strategies;
  for (const ShardingNode& node : problem.nodes())
    strategies.push_back(static_cast<std::int32_t>(std::ranges::min_element(node.usages) -
                                                   node.usages.begin()));
  return replay_sharding(problem, strategies).memory_bytes;
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
    if (!complete) complete = raise();
    if (!complete && !budget_.was_spent()) complete = improve_and_branch();
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

  bool raise() {
    BoundRaiser raiser(pairwise_, seed_);
    do {
      raiser.round(incumbent_);
      bound_ = std::max(bound_, raiser.bound());
      if (closed()) return true;
    } while (!budget_.spend() && budget_.share() < kBoundShare &&
             raiser.idle_rounds() < kIdleRounds);
    multipliers_.assign(raiser.multipliers().begin(), raiser.multipliers().end());
    prices_.assign(raiser.prices().begin(), raiser.prices().end());
    states_.assign(raiser.states().begin(), raiser.states().end());
    return false;
  }

  bool improve_and_branch() {
    ChoiceImprover improver(pairwise_, incumbent_.states_in(pairwise_).value_or(states_),
                            multipliers_, prices_, seed_);
    const bool small = std::ssize(pairwise_.pair_costs) < kBranchEntries / 10;
    std::size_t idle = 0;
    while (!budget_.spend() && (!small || budget_.share() < kImproveShare)) {
      const Cost before = incumbent_.cost();
      improver.round(incumbent_);
      if (closed()) return true;
      idle = incumbent_.cost() < before ? 0 : idle + 1;
      if (small && idle > pairwise_.size()) break;
    }
    if (budget_.was_spent()) return false;
    return branch_choice(pairwise_, multipliers_, kBranchEntries, incumbent_, budget_);
  }

  ShardingChoice answer(bool complete) {
    ShardingChoice choice;
    (void)closed();
    choice.found = incumbent_.found();
    choice.lower_bound = lower_bound_;
    choice.stopped = !complete;
    choice.impossible = complete && !choice.found;
    choice.least_memory_bytes = incumbent_.least_memory_bytes();
    choice.lower_bound_bytes = least_held(*problem_);
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
  std::vector<double> multipliers_, prices_;
  std::vector<std::int32_t> states_;
};

}  // namespace

ShardingChoice choose_strategies(const ShardingProblem& problem,
                                 const ShardingOptions& options) {
  return Chooser(problem, options).run();
}

}  // namespace espalier
