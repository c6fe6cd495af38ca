#include "espalier/sharding/branch_choice.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "espalier/sharding/raise_bound.h"

namespace espalier {
namespace {

constexpr int kMostRounds = 60;
constexpr int kBranchIdleRounds = 8;

struct Open {
  Pairwise problem;
  std::vector<double> multipliers;
};

std::int64_t entries(const Pairwise& problem) {
  return std::ssize(problem.pair_costs) + 4 * std::ssize(problem.costs) +
         std::ssize(problem.room) + std::ssize(problem.fixed);
}

// Costs are integers: what is below the best by less than one is no better.
double goal(const Incumbent& incumbent) {
  return static_cast<double>(incumbent.cost()) - 1;
}

std::vector<double> multipliers_of(const Pairwise& child, const Open& parent) {
  if (child.room.size() == parent.problem.room.size()) return parent.multipliers;
  return {};
}

// The variable whose second state costs most by the bound, and its best state.
std::pair<std::size_t, std::size_t> split(const Pairwise& problem,
                                          const std::vector<double>& excess) {
  std::size_t best = 0, state = 0;
  double most = -1;
  for (std::size_t v = 0; v < problem.size(); ++v) {
    std::size_t least = problem.first_state[v];
    double second = Pairwise::kNever;
    for (std::size_t s = least + 1; s < problem.first_state[v + 1]; ++s) {
      if (excess[s] < excess[least]) {
        second = excess[least];
        least = s;
      } else {
        second = std::min(second, excess[s]);
      }
    }
    if (second > most) most = second, best = v, state = least;
  }
  return {best, state};
}

class BranchSearch {
 public:
  BranchSearch(std::int64_t most_entries, Incumbent& incumbent, ShardingBudget& budget)
      : most_entries_(most_entries), incumbent_(incumbent), budget_(budget) {}

  bool run(Open root) {
    push(std::move(root));
    while (!stack_.empty()) {
      if (held_ > most_entries_) return false;
      Open open = std::move(stack_.back());
      stack_.pop_back();
      held_ -= entries(open.problem);
      if (!expand(open)) return false;
    }
    return true;
  }

 private:
  void push(Open open) {
    if (open.problem.impossible) return;
    held_ += entries(open.problem);
    stack_.push_back(std::move(open));
  }

  bool expand(Open& open) {
    const Pairwise& problem = open.problem;
    if (problem.size() == 0) {
      if (problem.constant <= goal(incumbent_)) incumbent_.offer(problem, {});
      return !budget_.spend();
    }
    BoundRaiser raiser(problem, 1, open.multipliers);
    for (int k = 0; k < kMostRounds && raiser.idle_rounds() < kBranchIdleRounds; ++k) {
      if (budget_.spend()) return false;
      raiser.round(incumbent_);
      if (raiser.bound() > goal(incumbent_)) return true;
    }
    const auto [worth, excess] = raiser.judge(goal(incumbent_));
    open.multipliers.assign(raiser.multipliers().begin(), raiser.multipliers().end());
    if (std::ranges::count(worth, 0) * 10 > std::ssize(worth)) {
      Pairwise smaller = restrict_states(problem, worth);
      std::vector<double> multipliers = multipliers_of(smaller, open);
      push({std::move(smaller), std::move(multipliers)});
      return true;
    }
    branch(open, worth, excess);
    return true;
  }

  void branch(const Open& open, const std::vector<char>& worth,
              const std::vector<double>& excess) {
    const auto [v, state] = split(open.problem, excess);
    std::vector<char> others = worth, only = worth;
    others[state] = 0;
    for (std::size_t s = open.problem.first_state[v]; s < open.problem.first_state[v + 1];
         ++s)
      if (s != state) only[s] = 0;
    for (std::vector<char>* alive : {&others, &only}) {
      Pairwise child = restrict_states(open.problem, std::move(*alive));
      std::vector<double> multipliers = multipliers_of(child, open);
      push({std::move(child), std::move(multipliers)});
    }
  }

  std::int64_t most_entries_, held_ = 0;
  Incumbent& incumbent_;
  ShardingBudget& budget_;
  std::vector<Open> stack_;
};

}  // namespace

bool branch_choice(const Pairwise& problem, std::span<const double> multipliers,
                   std::int64_t most_entries, Incumbent& incumbent,
                   ShardingBudget& budget) {
  return BranchSearch(most_entries, incumbent, budget)
      .run({problem, {multipliers.begin(), multipliers.end()}});
}

}  // namespace espalier
