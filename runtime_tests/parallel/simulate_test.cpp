#include "espalier/parallel/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "espalier/model/error.h"
#include "espalier/model/replay.h"
#include "espalier/model/validate.h"
#include "espalier/parallel/bounds.h"
#include "espalier/sequential/tree/best_postorder.h"
#include "espalier/sequential/tree/liu_traversal.h"
#include "parallel/instances.h"

namespace espalier {
namespace TEST_SOURCE {

Simulation booked(const TaskTree& tree, std::span<const TaskId> order, Bytes bound,
                  const SimulationOptions& options) {
  BookingAdmission admission(tree, order, bound);
  return simulate(tree, admission, options);
}

// Makespan by the definition of list scheduling, one unit of time after the other: works
// are whole numbers. Memory unbounded.
Flops list_schedule(const TaskTree& tree, std::int32_t workers) {
  const std::vector<Flops> priority = root_path_weights(tree);
  std::vector<Flops> left(tree.size());
  std::vector<bool> started(tree.size(), false), ended(tree.size(), false);
  for (std::size_t i = 0; i < tree.size(); ++i) left[i] = tree.work(task_id(i));
  std::int32_t busy = 0;
  for (Flops now = 0;; ++now) {
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = 0; i < tree.size(); ++i) {
        if (started[i] && !ended[i] && left[i] == 0) {
          ended[i] = changed = true;
          --busy;
        }
      }
      while (busy < workers) {
        std::size_t best = tree.size();
        for (std::size_t i = 0; i < tree.size(); ++i) {
          const auto children = tree.children(task_id(i));
          const bool ready = std::all_of(children.begin(), children.end(),
                                         [&](TaskId c) { return ended[index(c)]; });
          if (started[i] || !ready) continue;
          if (best == tree.size() || priority[i] > priority[best]) best = i;
        }
        if (best == tree.size()) break;
        started[best] = changed = true;
        ++busy;
      }
    }
    if (std::all_of(ended.begin(), ended.end(), [](bool e) { return e; })) return now;
    for (std::size_t i = 0; i < tree.size(); ++i) left[i] -= started[i] && !ended[i];
  }
}

// Whatever the shares, the tasks inside [a, b] do no more than P (b - a) work, and none
// is faster than its useful workers.
bool workers_suffice(const TaskTree& tree, const Schedule& run,
                     std::span<const double> useful) {
  constexpr double kRounding = 1e-9;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const Flops most = useful[i] * (run.end[i] - run.start[i]);
    if (tree.work(task_id(i)) > most + kRounding) return false;
  }
  for (const Seconds a : run.start) {
    for (const Seconds b : run.end) {
      Flops inside = 0;
      for (std::size_t i = 0; i < tree.size(); ++i) {
        if (run.start[i] >= a && run.end[i] <= b) inside += tree.work(task_id(i));
      }
      if (inside > std::max(0.0, b - a) * run.workers + kRounding) return false;
    }
  }
  return true;
}

TEST(Simulate, FollowsTheWorkedTrace) {
  const TaskTree tree = worked_example();
  const std::vector<TaskId> order = ids({3, 4, 1, 5, 6, 2, 0});
  struct Expected {
    Bytes bound;
    Flops makespan;
    Bytes peak;
  };
  for (const auto& [bound, makespan, peak] :
       {Expected{17, 14, 16}, {15, 14, 15}, {21, 12, 0}, {35, 11, 0}}) {
    const Simulation run = booked(tree, order, bound, {2, {}, {}});
    EXPECT_EQ(run.makespan, makespan) << "bound " << bound;
    EXPECT_LE(run.peak, bound);
    if (peak > 0) {
      EXPECT_EQ(run.peak, peak) << "bound " << bound;
    }
    EXPECT_EQ(validate(tree, run.schedule, run.peak), Violations{});
  }
  const Simulation run = booked(tree, order, 17, {2, {}, {}});
  EXPECT_EQ(run.schedule.start, (std::vector<Seconds>{12, 4, 9, 0, 0, 2, 7}));
}

TEST(Simulate, StaysInsideTheBoundAndAboveTheLowerBounds) {
  std::mt19937 random(17);
  for (int round = 0; round < 10'000; ++round) {
    const TaskTree tree = random_tree(random, 1 + random() % 20);
    const std::vector<TaskId> order = random_order(tree, random);
    const Bytes least = replay(tree, order).peak;
    const Bytes bound = least + random() % (least + 1);
    const auto workers = static_cast<std::int32_t>(1 + random() % 8);
    std::vector<double> useful;
    if (round % 2 == 0) {
      for (std::size_t i = 0; i < tree.size(); ++i) {
        useful.push_back(1 + 0.25 * static_cast<double>(random() % 20));
      }
    }
    const Simulation run = booked(tree, order, bound, {workers, useful, {}});
    ASSERT_EQ(validate(tree, run.schedule, bound), Violations{}) << describe(tree, order);
    ASSERT_LE(run.peak, bound) << describe(tree, order);
    // Simultaneous events are one state to replay() and a sequence to the simulation.
    const Replay replayed = replay(tree, run.schedule);
    ASSERT_LE(replayed.peak, run.peak) << describe(tree, order);
    ASSERT_EQ(replayed.makespan, run.makespan) << describe(tree, order);
    const LowerBounds bounds = lower_bounds(tree, workers, bound, useful);
    ASSERT_GE(run.makespan, bounds.best() * (1 - 1e-12)) << describe(tree, order);
    if (useful.empty()) {
      ASSERT_EQ(run.schedule.share, std::vector<double>(tree.size(), 1.0));
    } else if (tree.size() <= 10) {
      ASSERT_TRUE(workers_suffice(tree, run.schedule, useful)) << describe(tree, order);
    }
  }
}

TEST(Simulate, IsListSchedulingWithoutABound) {
  std::mt19937 random(18);
  for (int round = 0; round < 2000; ++round) {
    const TaskTree tree = random_tree(random, 1 + random() % 14);
    const auto workers = static_cast<std::int32_t>(1 + random() % 4);
    BarrierAdmission unbounded(tree);
    const Simulation run = simulate(tree, unbounded, {workers, {}, {}});
    ASSERT_EQ(run.makespan, list_schedule(tree, workers)) << "workers " << workers << "\n"
                                                          << describe(tree);
    ASSERT_EQ(validate(tree, run.schedule), Violations{}) << describe(tree);
  }
}

TEST(Simulate, HonoursTheBarriersOfTheMemoryAwareMapping) {
  std::mt19937 random(19);
  for (int round = 0; round < 3000; ++round) {
    const TaskTree tree = random_tree(random, 1 + random() % 20);
    const Bytes least = best_postorder(tree).peak;
    const Bytes bound = least + random() % (least + 1);
    const auto workers = static_cast<std::int32_t>(1 + random() % 8);
    const auto aware = memory_aware(tree, workers, bound);
    ASSERT_TRUE(aware);
    BarrierAdmission admission(tree, aware->serialisation);
    const Simulation run = simulate(tree, admission, {workers, {}, {}});
    ASSERT_LE(run.peak, aware->guaranteed_peak) << describe(tree);
    ASSERT_EQ(validate(tree, run.schedule, bound), Violations{}) << describe(tree);
  }
}

TEST(Simulate, KeepsTheActivationBaselineInsideTheBound) {
  std::mt19937 random(20);
  for (int round = 0; round < 5000; ++round) {
    const TaskTree tree = random_tree(random, 1 + random() % 15);
    const std::vector<TaskId> order = random_order(tree, random);
    const Bytes bound = replay(tree, order).peak;
    ActivationAdmission admission(tree, order, bound);
    const Simulation run = simulate(tree, admission, {4, {}, {}});
    ASSERT_EQ(validate(tree, run.schedule, bound), Violations{}) << describe(tree, order);
  }
}

TEST(Simulate, SharesIdleWorkersByPriority) {
  // Two leaves of work 6 under a root of work 4; three workers, all useful to each.
  const TaskTree tree(std::vector<Task>{
      {std::nullopt, 0, 0, 0, 4}, {task_id(0), 0, 0, 0, 6}, {task_id(0), 0, 0, 0, 6}});
  const std::vector<double> useful{3, 2, 2};
  BarrierAdmission admission(tree);
  const Simulation run = simulate(tree, admission, {3, useful, {}});
  // 1 has two workers until 3; 2 has one until 3, then two for the other 3 units of work.
  EXPECT_EQ(run.schedule.end, (std::vector<Seconds>{4.5 + 4.0 / 3, 3, 4.5}));
  EXPECT_TRUE(run.schedule.share.empty());
}

TEST(Simulate, UsesTheLastWorkerInPart) {
  const TaskTree tree(std::vector<Task>{{std::nullopt, 0, 0, 0, 5}});
  const std::vector<double> useful{2.5};
  BarrierAdmission admission(tree);
  const Simulation run = simulate(tree, admission, {4, useful, {}});
  EXPECT_EQ(run.makespan, 2);
  EXPECT_EQ(run.schedule.share, std::vector<double>{3});
}

TEST(Simulate, FollowsTheGivenPriorities) {
  const TaskTree tree(
      std::vector<Task>{{std::nullopt, 0, 0, 0, 5}, {std::nullopt, 0, 0, 0, 1}});
  const std::vector<Flops> priority{1, 2};
  BarrierAdmission first(tree), second(tree);
  EXPECT_EQ(simulate(tree, first, {1, {}, {}}).schedule.start[1], 5);
  EXPECT_EQ(simulate(tree, second, {1, {}, priority}).schedule.start[1], 0);
}

TEST(Simulate, SaysWhenAnAdmissionIsStuck) {
  const TaskTree tree = worked_example();
  Serialisation knot;  // leaf 3 waits for its own grandparent
  knot.barriers = 1;
  knot.waits = {-1, -1, -1, 0, -1, -1, -1};
  knot.signals = {0, -1, -1, -1, -1, -1, -1};
  BarrierAdmission admission(tree, knot);
  EXPECT_THROW((void)simulate(tree, admission, {2, {}, {}}), Error);
}

TEST(Simulate, RefusesBadOptions) {
  const TaskTree tree = worked_example();
  BarrierAdmission admission(tree);
  const std::vector<Flops> three(3, 1.0);
  EXPECT_THROW((void)simulate(tree, admission, {0, {}, {}}), InvalidInput);
  EXPECT_THROW((void)simulate(tree, admission, {1, three, {}}), InvalidInput);
  EXPECT_THROW((void)simulate(tree, admission, {1, {}, three}), InvalidInput);
}

TEST(Simulate, AcceptsTheEmptyForest) {
  const TaskTree tree;
  BarrierAdmission admission(tree);
  EXPECT_EQ(simulate(tree, admission, {4, {}, {}}).makespan, 0);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
