// The cases of one subject, which share their instances: over 300 lines.

#include "espalier/distributed/distribute.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "espalier/distributed/distributed_admission.h"
#include "espalier/distributed/part_trees.h"
#include "espalier/distributed/process_groups.h"
#include "espalier/distributed/validate_distribution.h"
#include "espalier/model/replay.h"
#include "espalier/parallel/mapping.h"
#include "espalier/sequential/tree/liu_traversal.h"
#include "parallel/instances.h"
#include "support/random_tree.h"
#include "support/tree_shapes.h"

namespace espalier {
namespace TEST_SOURCE {

constexpr Bytes kUnlimited = std::numeric_limits<Bytes>::max();

std::vector<std::int32_t> random_parts(std::mt19937& random, const TaskTree& tree) {
  std::vector<std::int32_t> parts(tree.size());
  for (std::int32_t& count : parts) {
    count = std::uniform_int_distribution<std::int32_t>(1, 9)(random);
  }
  return parts;
}

void expect_well_formed(const TaskTree& tree, const Distribution& distribution) {
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const TaskId task = task_id(i);
    const WorkerRange& group = distribution.group[i];
    EXPECT_GE(group.count, 1);
    EXPECT_GE(group.first, 0);
    EXPECT_LE(group.first + group.count, distribution.processes);
    EXPECT_FALSE(distribution.owners(task).empty());
    std::int32_t last = -1;
    for (const Owner& owner : distribution.owners(task)) {
      EXPECT_TRUE(group.contains(owner.process));
      EXPECT_GT(owner.process, last);
      EXPECT_GT(owner.pieces, 0);
      last = owner.process;
    }
    for (const TaskId child : tree.children(task)) {
      const WorkerRange& inner = distribution.group[index(child)];
      EXPECT_GE(inner.first, group.first);
      EXPECT_LE(inner.first + inner.count, group.first + group.count);
    }
  }
  EXPECT_EQ(distribution.peak.size(), static_cast<std::size_t>(distribution.processes));
  EXPECT_NO_THROW((void)replay(tree, distribution.witness));
}

// Written from the model alone: what a process holds of each task.
struct ReferenceParts {
  const TaskTree& tree;
  const Distribution& d;

  // Bytes of `total` that process p has by its pieces of the task.
  [[nodiscard]] Bytes part(TaskId task, Bytes total, std::int32_t p) const {
    Bytes all = 0, from = 0, mine = 0;
    for (const Owner& owner : d.owners(task)) {
      all += owner.pieces;
      if (owner.process < p) from += owner.pieces;
      if (owner.process == p) mine = owner.pieces;
    }
    return static_cast<Bytes>(static_cast<long double>(total) * (from + mine) / all) -
           static_cast<Bytes>(static_cast<long double>(total) * from / all);
  }
  [[nodiscard]] Bytes held(TaskId task, std::int32_t p) const {
    Bytes sum = 0;
    for (const TaskId child : tree.children(task))
      sum += part(child, tree.output_size(child), p);
    return sum;
  }
  [[nodiscard]] std::int32_t taking_part(TaskId task) const {
    std::int32_t count = 0;
    for (std::int32_t q = 0; q < d.processes; ++q) {
      const bool owns = std::ranges::any_of(
          d.owners(task), [q](const Owner& owner) { return owner.process == q; });
      if (owns || held(task, q) > 0) ++count;
    }
    return count;
  }
  [[nodiscard]] Bytes execution(TaskId task, std::int32_t p) const {
    Bytes all = 0, mine = 0;
    for (const Owner& owner : d.owners(task)) {
      all += owner.pieces;
      if (owner.process == p) mine = owner.pieces;
    }
    const Bytes m = tree.execution_size(task);
    Bytes bytes = 0;
    if (m >= 0) {
      bytes = part(task, m, p);
    } else {
      const Bytes own =
          part(task, tree.output_size(task), p) + part(task, tree.retained_size(task), p);
      bytes = -std::min({-m * mine / all, -m * held(task, p) / tree.input_size(task), own,
                         held(task, p)});
    }
    if (taking_part(task) <= 1 || mine == 0) return bytes;
    Bytes message = 0;
    for (const TaskId child : tree.children(task)) {
      message = std::max(message, std::min(kLeastPiece, tree.output_size(child)));
    }
    const Bytes whole = tree.output_size(task) + tree.retained_size(task);
    const Bytes piece = all == 1 ? 0 : (whole + all - 1) / all;
    return bytes + 2 * std::max(message, piece);
  }
};

// At each instant of the witness, by going through all tasks for each of them.
std::vector<Bytes> reference_peaks(const TaskTree& tree, const Distribution& d) {
  const ReferenceParts parts{tree, d};
  std::vector<Bytes> load(static_cast<std::size_t>(d.processes), 0), peak = load;
  for (const TaskId task : d.witness) {
    for (std::int32_t p = 0; p < d.processes; ++p) {
      const auto at = static_cast<std::size_t>(p);
      const Bytes kept = parts.part(task, tree.output_size(task), p) +
                         parts.part(task, tree.retained_size(task), p);
      peak[at] = std::max(peak[at], load[at] + kept + parts.execution(task, p));
      load[at] += kept - parts.held(task, p);
    }
  }
  return peak;
}

// Two leaves of 4 MiB each under a root of 2 MiB, in pieces of 1 MiB.
struct TwoLeaves {
  static constexpr Bytes kMebi = Bytes{1} << 20;
  TaskTree tree = TaskTree(
      std::vector<Task>{{.output_size = 0, .retained_size = 2 * kMebi, .work = 1},
                        {.parent = task_id(0), .output_size = 4 * kMebi, .work = 1},
                        {.parent = task_id(0), .output_size = 4 * kMebi, .work = 1}});
  std::vector<std::int32_t> parts = {2, 4, 4};
};

TEST(Distribute, AnswersAHandCheckedExample) {
  const TwoLeaves example;
  constexpr Bytes kMebi = TwoLeaves::kMebi;
  const auto d = distribute(example.tree, {.processes = 2, .most_parts = example.parts});
  ASSERT_TRUE(d);
  // A leaf on each process; the root has a piece on each: 4 + 1 and two pieces to
  // receive in.
  EXPECT_EQ(d->group[1].count, 1);
  EXPECT_EQ(d->group[2].count, 1);
  EXPECT_NE(d->group[1].first, d->group[2].first);
  EXPECT_EQ(d->group[0], (WorkerRange{0, 2}));
  EXPECT_EQ(d->peak, (std::vector<Bytes>{7 * kMebi, 7 * kMebi}));
  EXPECT_EQ(d->lower_bound, 5 * kMebi);
  EXPECT_EQ(d->sequential_least, 10 * kMebi);
  EXPECT_EQ(distribute_least(example.tree, {.processes = 1}).bound, 10 * kMebi);
}

TEST(Distribute, SaysWhatIsTheLeastWhenTheBoundIsTooSmall) {
  const TwoLeaves example;
  DistributionOptions options{.processes = 2, .most_parts = example.parts};
  const Bytes least = distribute_least(example.tree, options).bound;
  options.memory_bound = least;
  EXPECT_TRUE(distribute(example.tree, options));
  options.memory_bound = least - 1;
  const auto none = distribute(example.tree, options);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().reason, Infeasible::Reason::kNoneFound);
  EXPECT_EQ(none.error().least_bytes, least);
  options.memory_bound = none.error().lower_bound_bytes - 1;
  EXPECT_EQ(distribute(example.tree, options).error().reason,
            Infeasible::Reason::kImpossible);
}

TEST(Distribute, PredictsWhatAReplayOfThePartsShows) {
  std::mt19937 random(1);
  for (int instance = 0; instance < 400; ++instance) {
    const TaskTree tree = support::varied_tree(random, instance, 14);
    const auto parts = random_parts(random, tree);
    const std::int32_t processes = 1 + instance % 5;
    for (const auto kind :
         {DistributedMapping::kMemoryAware, DistributedMapping::kProportional}) {
      const DistributionOptions options{
          .processes = processes, .most_parts = parts, .kind = kind};
      const Distribution d = distribute_least(tree, options);
      expect_well_formed(tree, d);
      EXPECT_EQ(d.peak, reference_peaks(tree, d)) << support::describe(tree);
      const std::vector<PartTree> trees = part_trees(tree, d);
      for (std::size_t p = 0; p < trees.size(); ++p) {
        EXPECT_EQ(replay(trees[p].tree, witness_of(trees[p])).peak, d.peak[p])
            << support::describe(tree);
      }
    }
  }
}

// The parts of a task sum up to it, but for buffers and rounding of a negative m.
TEST(PartTrees, HoldNoLessThanTheWhole) {
  std::mt19937 random(2);
  for (int instance = 0; instance < 200; ++instance) {
    const TaskTree tree = support::varied_tree(random, instance, 12);
    const auto parts = random_parts(random, tree);
    const Distribution d =
        distribute_least(tree, {.processes = 1 + instance % 6, .most_parts = parts});
    std::vector<Bytes> output(tree.size(), 0), retained = output, need = output;
    std::vector<Flops> work(tree.size(), 0);
    for (const PartTree& at : part_trees(tree, d)) {
      for (std::size_t k = 0; k < at.task.size(); ++k) {
        const std::size_t i = index(at.task[k]);
        output[i] += at.tree.output_size(task_id(k));
        retained[i] += at.tree.retained_size(task_id(k));
        need[i] += at.tree.memory_requirement(task_id(k));
        work[i] += at.tree.work(task_id(k));
      }
    }
    for (std::size_t i = 0; i < tree.size(); ++i) {
      EXPECT_EQ(output[i], tree.output_size(task_id(i)));
      EXPECT_EQ(retained[i], tree.retained_size(task_id(i)));
      EXPECT_GE(need[i], tree.memory_requirement(task_id(i)));
      EXPECT_NEAR(work[i], tree.work(task_id(i)), 1e-9);
    }
  }
}

// Largest peak of the best of all orders and all ways to deal the pieces out to two
// processes.
Bytes brute_force_least(const TaskTree& tree, const std::vector<std::int32_t>& parts) {
  std::vector<std::int32_t> first(tree.size(), 0);  // pieces of process 0
  std::vector<TaskId> order(tree.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = task_id(i);
  Bytes least = kUnlimited;
  const auto is_order = [&tree](const std::vector<TaskId>& tasks) {
    std::vector<bool> done(tree.size(), false);
    for (const TaskId task : tasks) {
      for (const TaskId child : tree.children(task)) {
        if (!done[index(child)]) return false;
      }
      done[index(task)] = true;
    }
    return true;
  };
  const auto next_deal = [&] {
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (++first[i] <= parts[i]) return true;
      first[i] = 0;
    }
    return false;
  };
  do {
    Distribution d;
    d.processes = 2;
    d.first_owner = {0};
    for (std::size_t i = 0; i < tree.size(); ++i) {
      if (first[i] > 0) d.owner.push_back({0, first[i]});
      if (first[i] < parts[i]) d.owner.push_back({1, parts[i] - first[i]});
      d.first_owner.push_back(d.owner.size());
    }
    std::ranges::sort(order);
    do {
      if (!is_order(order)) continue;
      d.witness = order;
      least = std::min(least, std::ranges::max(reference_peaks(tree, d)));
    } while (std::ranges::next_permutation(order).found);
  } while (next_deal());
  return least;
}

TEST(Distribute, IsSeldomFarFromTheBestOfAllOrdersAndDeals) {
  std::mt19937 random(8);
  int best = 0;
  constexpr int kInstances = 80;
  for (int instance = 0; instance < kInstances; ++instance) {
    const TaskTree tree = support::varied_tree(random, instance, 4);
    std::vector<std::int32_t> parts(tree.size());
    for (std::int32_t& count : parts) count = 1 + static_cast<std::int32_t>(random() % 3);
    const DistributionOptions options{.processes = 2, .most_parts = parts};
    const Distribution least = distribute_least(tree, options);
    const Bytes exact = brute_force_least(tree, parts);
    EXPECT_GE(least.bound, exact) << support::describe(tree);
    EXPECT_GE(exact, least.lower_bound) << support::describe(tree);
    if (least.bound == exact) ++best;
  }
  EXPECT_GE(best, kInstances / 2);
}

TEST(Distribute, IsNeverBelowItsLowerBound) {
  std::mt19937 random(3);
  for (int instance = 0; instance < 200; ++instance) {
    const TaskTree tree = support::varied_tree(random, instance, 9);
    const auto parts = random_parts(random, tree);
    const DistributionOptions options{.processes = 2 + instance % 3, .most_parts = parts};
    const Distribution least = distribute_least(tree, options);
    EXPECT_EQ(least.bound, least.largest_peak());
    EXPECT_GE(least.bound, least.lower_bound);
    EXPECT_EQ(least.sequential_least, liu_traversal(tree).peak);
    EXPECT_LE(least.bound, liu_traversal(tree).peak) << "one process could do it alone";
  }
}

TEST(Distribute, OnOneProcessIsLiusOrder) {
  std::mt19937 random(4);
  for (int instance = 0; instance < 200; ++instance) {
    const TaskTree tree = support::varied_tree(random, instance, 12);
    const Traversal liu = liu_traversal(tree);
    const auto d = distribute(tree, {.processes = 1, .memory_bound = liu.peak});
    ASSERT_TRUE(d);
    EXPECT_EQ(d->witness, liu.order);
    EXPECT_EQ(d->peak, std::vector<Bytes>{liu.peak});
    if (liu.peak == 0) continue;
    const auto less = distribute(tree, {.processes = 1, .memory_bound = liu.peak - 1});
    ASSERT_FALSE(less);
    EXPECT_EQ(less.error().least_bytes, liu.peak);
    EXPECT_EQ(less.error().reason, Infeasible::Reason::kImpossible);
  }
}

// What has been found by then, and one process alone at worst.
TEST(Distribute, EndsWithTheBestSoFarAfterSoManyPartsAsItIsTold) {
  std::mt19937 random(7);
  int worse = 0;
  for (int instance = 0; instance < 60; ++instance) {
    const TaskTree tree = support::varied_tree(random, instance, 12);
    const auto parts = random_parts(random, tree);
    DistributionOptions options{.processes = 2 + instance % 3, .most_parts = parts};
    const Bytes least = distribute_least(tree, options).bound;
    for (const std::size_t most : {0, 1, 40, 400}) {
      options.most_dealt = most;
      options.memory_bound = kUnlimited;
      const Distribution soon = distribute_least(tree, options);
      EXPECT_EQ(validate(tree, soon), Violations{}) << most;
      EXPECT_LE(soon.bound, liu_traversal(tree).peak) << most;
      if (most == 0) worse += soon.bound > least ? 1 : 0;
      options.memory_bound = soon.bound;
      EXPECT_TRUE(distribute(tree, options)) << most;
    }
  }
  EXPECT_GT(worse, 10);  // it did end
}

TEST(Distribute, TwiceTheProcessesNeverNeedMore) {
  std::mt19937 random(5);
  for (int instance = 0; instance < 60; ++instance) {
    const TaskTree tree = support::varied_tree(random, instance, 20);
    const auto parts = random_parts(random, tree);
    Bytes before = kUnlimited;
    for (std::int32_t processes = 1; processes <= 32; processes *= 2) {
      const Bytes least =
          distribute_least(tree, {.processes = processes, .most_parts = parts}).bound;
      EXPECT_LE(least, before) << processes << '\n' << support::describe(tree);
      before = least;
    }
  }
}

TEST(ProcessGroups, AreThoseOfTheProportionalMappingWithoutALimit) {
  std::mt19937 random(6);
  for (int instance = 0; instance < 200; ++instance) {
    const TaskTree tree = support::varied_tree(random, instance, 25);
    const std::int32_t processes = 2 + instance % 9;
    const Mapping expected = proportional(tree, processes);
    ProcessGroups groups(tree);
    for (const DistributionUnit& unit :
         groups.units(processes, std::numeric_limits<double>::infinity())) {
      EXPECT_EQ(unit.group, expected[index(unit.task)]) << support::describe(tree);
    }
  }
}

// Runs the parts with durations drawn anew for each, and checks what each process holds.
void run_at_random(const TaskTree& tree, const Distribution& d, Bytes bound,
                   std::mt19937& random) {
  const std::vector<PartTree> processes = part_trees(tree, d);
  const PartForest forest(processes);
  DistributedAdmission admission(processes, forest, bound);
  std::vector<TaskId> running;
  std::vector<Bytes> load(processes.size(), 0);
  std::size_t ended = 0;
  const auto start = [&](const std::vector<TaskId>& startable) {
    for (const TaskId part : startable) {
      const auto p = static_cast<std::size_t>(forest.process()[index(part)]);
      load[p] += forest.tree().memory_requirement(part) - forest.tree().input_size(part);
      EXPECT_LE(load[p], bound);
      running.push_back(part);
    }
  };
  std::vector<TaskId> startable;
  admission.begin(startable);
  start(startable);
  while (!running.empty()) {
    // Any part may be the next to end; now and then always the last that has started.
    const std::size_t pick =
        random() % 4 == 0 ? running.size() - 1 : random() % running.size();
    std::swap(running[pick], running.back());
    const TaskId part = running.back();
    running.pop_back();
    const auto p = static_cast<std::size_t>(forest.process()[index(part)]);
    load[p] -= forest.tree().execution_size(part) + forest.tree().input_size(part);
    ++ended;
    startable.clear();
    admission.complete(part, startable);
    start(startable);
  }
  EXPECT_EQ(ended, forest.tree().size()) << "deadlock\n" << support::describe(tree);
  for (const Bytes booked : admission.booked_peaks()) EXPECT_LE(booked, bound);
}

TEST(Distribute, KeepsTheBoundUnderAnyDurations) {
  std::mt19937 random(7);
  for (int instance = 0; instance < 120; ++instance) {
    const TaskTree tree = support::varied_tree(random, instance, 30);
    const auto parts = random_parts(random, tree);
    DistributionOptions options{.processes = 1 + instance % 7, .most_parts = parts};
    const Distribution least = distribute_least(tree, options);
    for (int run = 0; run < 4; ++run) run_at_random(tree, least, least.bound, random);
    options.memory_bound = least.bound + least.bound / 4;
    const auto more = distribute(tree, options);
    ASSERT_TRUE(more) << support::describe(tree);
    EXPECT_LE(more->largest_peak(), options.memory_bound);
    expect_well_formed(tree, *more);
    run_at_random(tree, *more, options.memory_bound, random);
  }
}

TEST(Distribute, RefusesWhatMakesNoSense) {
  const TwoLeaves example;
  EXPECT_THROW((void)distribute(example.tree, {.processes = 0}), InvalidInput);
  EXPECT_THROW((void)distribute(example.tree, {.workers = 0}), InvalidInput);
  const std::vector<std::int32_t> few = {1, 1}, none = {1, 0, 1};
  EXPECT_THROW((void)distribute(example.tree, {.most_parts = few}), InvalidInput);
  EXPECT_THROW((void)distribute(example.tree, {.most_parts = none}), InvalidInput);
}

TEST(Distribute, HandlesNoTaskAndOneTask) {
  const auto empty = distribute(TaskTree(), {.processes = 4});
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->largest_peak(), 0);
  const TaskTree one(std::vector<Task>{{.output_size = 8, .work = 1}});
  const std::vector<std::int32_t> parts = {4};
  const Distribution d = distribute_least(one, {.processes = 64, .most_parts = parts});
  expect_well_formed(one, d);
  EXPECT_LE(d.bound, 8);
}

TEST(Distribute, HandlesSizesNearTheEndOfTheRange) {
  const Bytes huge = Bytes{1} << 61;
  const std::vector<Task> tasks = {
      {.output_size = 0, .work = 1},
      {.parent = task_id(0), .output_size = huge, .work = 1},
      {.parent = task_id(0), .output_size = huge, .work = 1}};
  const TaskTree tree(tasks);
  const std::vector<std::int32_t> parts = {1, 64, 64};
  const DistributionOptions options{.processes = 4, .most_parts = parts};
  const Distribution d = distribute_least(tree, options);
  EXPECT_EQ(d.peak, reference_peaks(tree, d));
  EXPECT_GE(d.bound, huge / 2);
  EXPECT_LT(d.bound, huge);
}

TEST(Distribute, HandlesAChainOfAMillionOnAThousandProcesses) {
  const TaskTree tree(support::chain(1'000'000));
  const Distribution d = distribute_least(
      tree, {.processes = 1024, .kind = DistributedMapping::kProportional});
  EXPECT_EQ(d.group[0], (WorkerRange{0, d.group[0].count}));
  EXPECT_GE(d.bound, d.lower_bound);
}

class LargeShapes : public testing::TestWithParam<support::Shape> {};

TEST_P(LargeShapes, AreDistributed) {
  const TaskTree tree(GetParam().make(21'000));
  const DistributionOptions options{.processes = 64};
  const Distribution d = distribute_least(tree, options);
  EXPECT_GE(d.bound, d.lower_bound);
  EXPECT_LE(d.bound, liu_traversal(tree).peak);
}

INSTANTIATE_TEST_SUITE_P(Shapes, LargeShapes, testing::ValuesIn(support::shapes()),
                         [](const auto& test) { return test.param.name; });

}  // namespace TEST_SOURCE
}  // namespace espalier
