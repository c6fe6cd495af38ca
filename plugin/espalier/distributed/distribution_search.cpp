#include "espalier/distributed/distribution_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <ranges>
#include <utility>

#include "espalier/distributed/simulate_distribution.h"
#include "espalier/distributed/task_overflow.h"
#include "espalier/parallel/bounds.h"
#include "espalier/sequential/tree/liu_traversal.h"

namespace espalier {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

WorkerRange hull(const WorkerRange& a, const WorkerRange& b) {
  const std::int32_t first = std::min(a.first, b.first);
  return {first, std::max(a.first + a.count, b.first + b.count) - first};
}

// Groups of no more than the owners of pieces and the children's groups. So a task in
// one piece without children is local.
void tighten(const TaskTree& tree, Distribution& distribution) {
  for (const TaskId task : tree.postorder()) {
    const auto owners = distribution.owners(task);
    WorkerRange group{owners.front().process, 1};
    group = hull(group, {owners.back().process, 1});
    for (const TaskId child : tree.children(task)) {
      group = hull(group, distribution.group[index(child)]);
    }
    distribution.group[index(task)] = group;
  }
}

// Deals out the pieces in the order of result.witness.
void deal(const TaskTree& tree, std::span<const std::int32_t> counts, Bytes level,
          Distribution& result) {
  PieceDealer dealer(tree, counts, result.processes, level);
  for (const TaskId task : result.witness) {
    const WorkerRange& group = result.group[index(task)];
    naming(task, [&] {
      if (group.count == 1) {
        dealer.run_local(task, group.first);
      } else {
        dealer.run_shared(task, group);
      }
    });
  }
  result.peak.assign(dealer.peaks().begin(), dealer.peaks().end());
  std::size_t count = 0;
  for (std::size_t i = 0; i < tree.size(); ++i) count += dealer.owners(task_id(i)).size();
  result.owner.reserve(count);
  result.first_owner.reserve(tree.size() + 1);
  result.first_owner.push_back(0);
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const auto owners = dealer.owners(task_id(i));
    result.owner.insert(result.owner.end(), owners.begin(), owners.end());
    result.first_owner.push_back(result.owner.size());
  }
  tighten(tree, result);
}

// Work of each subtree by the time that its longest path takes on `workers` workers.
std::vector<double> parallelism(const TaskTree& tree, std::int32_t workers,
                                std::span<const double> useful) {
  const std::vector<Flops> work = subtree_works(tree);
  std::vector<Seconds> path(tree.size(), 0);
  std::vector<double> result(tree.size());
  for (const TaskId task : tree.postorder()) {
    const std::size_t i = index(task);
    path[i] += tree.work(task) / std::min<double>(useful[i], workers);
    result[i] = path[i] > 0 ? std::max(1.0, work[i] / path[i]) : 1;
    if (const auto parent = tree.parent(task)) {
      path[index(*parent)] = std::max(path[index(*parent)], path[i]);
    }
  }
  return result;
}

}  // namespace

DistributionSearch::DistributionSearch(const TaskTree& tree,
                                       const DistributionOptions& options)
    : tree_(tree),
      options_(options),
      counts_(piece_counts(tree, options.most_parts)),
      useful_(useful_workers(tree, options.max_workers)),
      subtree_useful_(parallelism(tree, options.workers, useful_)),
      groups_(tree),
      liu_(liu_traversal(tree)),
      unit_of_(tree.size(), -1) {
  // Where no process can tell the difference, large trees need not be looked at whole.
  constexpr std::size_t kLarge = 20'000;
  constexpr int kPart = 64;
  if (tree.size() < kLarge) return;
  Flops work = 0;
  for (const TaskId root : tree.roots()) work += groups_.work()[index(root)];
  groups_.set_small({liu_.peak / options.processes / kPart,
                     work / options.processes / options.workers / kPart});
}

Bytes DistributionSearch::lower_bound(std::int32_t processes) const {
  Bytes least = liu_.peak / processes + (liu_.peak % processes != 0 ? 1 : 0);
  for (std::size_t i = 0; i < tree_.size(); ++i) {
    const Bytes whole = tree_.output_size(task_id(i)) + tree_.retained_size(task_id(i));
    least = std::max(least, whole / PieceDealer::pieces(counts_[i], processes));
  }
  return least;
}

std::vector<DistributionUnit> DistributionSearch::units(const DistributionTrial& trial) {
  auto units = groups_.units(trial.processes, trial.budget);
  if (trial.balanced) groups_.balance(units, trial.processes);
  return units;
}

CoarseDistribution DistributionSearch::coarse(const DistributionTrial& trial) {
  const auto units = this->units(trial);
  CoarseDistribution coarse;
  describe_units(units, coarse);
  Distribution& result = coarse.distribution;
  result.processes = trial.processes;
  for (const DistributionUnit& unit : units) result.group.push_back(unit.group);
  result.witness.resize(units.size());
  for (std::size_t u = 0; u < units.size(); ++u) result.witness[u] = task_id(u);
  deal(coarse.tree, coarse.most_parts, trial.level, result);
  return coarse;
}

void DistributionSearch::describe_units(std::span<const DistributionUnit> units,
                                        CoarseDistribution& coarse) const {
  const SubtreePeaks& subtrees = groups_.subtrees();
  std::vector<Task> tasks(units.size());
  std::vector<std::int32_t> unit_of = unit_of_;
  coarse.most_parts.reserve(units.size());
  coarse.max_workers.reserve(units.size());
  for (std::size_t u = 0; u < units.size(); ++u) {
    unit_of[index(units[u].task)] = static_cast<std::int32_t>(u);
  }
  for (std::size_t u = 0; u < units.size(); ++u) {
    const TaskId root = units[u].task;
    const std::size_t i = index(root);
    Task& task = tasks[u];
    if (const auto parent = tree_.parent(root)) {
      task.parent = TaskId{unit_of[index(*parent)]};
    }
    task.output_size = tree_.output_size(root);
    if (units[u].local()) {
      task.retained_size = subtrees.left_behind[i] - task.output_size;
      task.execution_size = subtrees.peak[i] - subtrees.left_behind[i];
      task.work = groups_.work()[i];
    } else {
      task.retained_size = tree_.retained_size(root);
      task.execution_size = tree_.execution_size(root);
      task.work = tree_.work(root);
    }
    coarse.most_parts.push_back(units[u].local() ? 1 : counts_[i]);
    coarse.max_workers.push_back(units[u].local() ? subtree_useful_[i] : useful_[i]);
  }
  coarse.tree = TaskTree(tasks);
}

Seconds DistributionSearch::makespan(CoarseDistribution& coarse, Bytes bound) const {
  DistributionOptions options = options_;
  options.processes = coarse.distribution.processes;
  options.most_parts = coarse.most_parts;
  options.max_workers = coarse.max_workers;
  coarse.distribution.bound = bound;
  return simulate_distribution(coarse.tree, coarse.distribution, options).makespan;
}

Distribution DistributionSearch::make(const DistributionTrial& trial) {
  const auto units = this->units(trial);
  Distribution result;
  result.processes = trial.processes;
  result.group = groups(units);
  result.witness = trial.liu_order ? liu_.order : order(units);
  deal(tree_, counts_, trial.level, result);
  result.sequential_least = liu_.peak;
  result.lower_bound = lower_bound(trial.processes);
  return result;
}

// A subtree is with the unit at its root.
Mapping DistributionSearch::groups(std::span<const DistributionUnit> units) const {
  Mapping group(tree_.size());
  for (const DistributionUnit& unit : units) group[index(unit.task)] = unit.group;
  for (const TaskId task : std::views::reverse(tree_.postorder())) {
    if (group[index(task)].count > 0) continue;
    group[index(task)] = group[index(*tree_.parent(task))];
  }
  return group;
}

// Unit by unit, the tasks of a local subtree in Liu's order, which restricted to a
// subtree is the best order of the subtree alone.
std::vector<TaskId> DistributionSearch::order(
    std::span<const DistributionUnit> units) const {
  std::vector<std::int32_t> unit_of(tree_.size(), -1);
  for (std::size_t u = 0; u < units.size(); ++u) {
    unit_of[index(units[u].task)] = static_cast<std::int32_t>(u);
  }
  std::vector<std::size_t> next(units.size() + 1, 0);
  for (const TaskId task : std::views::reverse(tree_.postorder())) {
    std::int32_t& unit = unit_of[index(task)];
    if (unit < 0) unit = unit_of[index(*tree_.parent(task))];
    ++next[static_cast<std::size_t>(unit) + 1];
  }
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<TaskId> order(tree_.size());
  for (const TaskId task : liu_.order) {
    order[next[static_cast<std::size_t>(unit_of[index(task)])]++] = task;
  }
  return order;
}

std::vector<double> DistributionSearch::budgets(std::int32_t processes) const {
  const auto low = static_cast<double>(lower_bound(processes));
  // From here on every subtree may be local.
  Bytes high = 0;
  for (const Bytes peak : groups_.subtrees().peak) high = std::max(high, peak);
  const double ratio = low > 0 ? std::max(1.0, static_cast<double>(high) / low) : 1;
  std::vector<double> result{kInfinite, 0};
  constexpr int kSteps = 24;
  for (int stride = 8; stride >= 1; stride /= 2) {
    for (int k = 0; k <= kSteps; k += stride) {
      if (stride < 8 && k % (2 * stride) == 0) continue;
      result.push_back(low * std::pow(ratio, static_cast<double>(k) / kSteps));
    }
  }
  return result;
}

Distribution DistributionSearch::least(std::int32_t processes) {
  dealt_ = 0;
  Distribution best = least_on(processes);
  // Half of the processes may idle, or all but one. Not worth a look when even the least
  // that is conceivable on the other half is more.
  for (std::int32_t fewer = processes; fewer > 1;) {
    fewer = dealt_ >= options_.most_dealt ? 1 : fewer / 2;
    if (lower_bound(fewer) >= best.largest_peak()) break;
    Distribution other = least_on(fewer);
    if (other.largest_peak() < best.largest_peak()) best = std::move(other);
  }
  best.processes = processes;
  best.lower_bound = lower_bound(processes);
  best.peak.resize(static_cast<std::size_t>(processes), 0);
  return best;
}

// The best trial in its own order, and in Liu's, which may need less where subtrees
// interleave.
Distribution DistributionSearch::least_on(std::int32_t processes) {
  DistributionTrial trial{.processes = processes, .liu_order = true};
  if (processes == 1) return make(trial);
  trial = least_coarse(processes);
  Distribution best = make(trial);
  for (const double budget : {trial.budget, 0.0}) {
    if (dealt_ >= options_.most_dealt) break;
    Distribution other = make({.processes = processes,
                               .budget = budget,
                               .balanced = trial.balanced,
                               .liu_order = true});
    dealt_ += other.owner.size();
    if (other.largest_peak() < best.largest_peak()) best = std::move(other);
  }
  return best;
}

DistributionTrial DistributionSearch::least_coarse(std::int32_t processes) {
  DistributionTrial best;
  Bytes least = std::numeric_limits<Bytes>::max();
  const auto consider = [&](double budget, bool balanced) {
    if (dealt_ >= options_.most_dealt) return;
    const DistributionTrial trial{processes, budget, balanced};
    const CoarseDistribution coarse = this->coarse(trial);
    dealt_ += coarse.distribution.owner.size();
    const Bytes peak = coarse.distribution.largest_peak();
    if (peak > least || (peak == least && best.processes == processes)) return;
    least = peak;
    best = trial;
    best.processes = processes;
  };
  for (const double budget : budgets(processes)) {
    consider(budget, true);
    consider(budget, false);
  }
  const double around = best.budget;
  for (int k = -5; k <= 5; ++k) consider(around * (1 + 0.02 * k), best.balanced);
  return best;
}

}  // namespace espalier
