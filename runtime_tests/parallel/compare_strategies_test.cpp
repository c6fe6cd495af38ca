#include "espalier/parallel/compare_strategies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "espalier/parallel/bounds.h"
#include "espalier/parallel/make_plan.h"
#include "parallel/instances.h"

namespace espalier {
namespace TEST_SOURCE {

StrategyRun run(const TaskTree& tree, Strategy strategy, std::int32_t workers,
                Bytes bound) {
  const auto result =
      run_strategy(tree, sequential_orders(tree), strategy, {workers, bound, {}});
  EXPECT_TRUE(result) << name(strategy);
  return result.value_or(StrategyRun{});
}

// Two subtrees of peak 10 and work 5 under a root of work 1: the bound decides whether
// they run together.
TEST(CompareStrategies, AnswerAHandCheckedExample) {
  const TaskTree tree(std::vector<Task>{
      {std::nullopt, 1, 0, 0, 1}, {task_id(0), 1, 9, 0, 5}, {task_id(0), 1, 9, 0, 5}});
  for (const Strategy strategy : kStrategies) {
    SCOPED_TRACE(name(strategy));
    const bool together = strategy == Strategy::kProportional;
    EXPECT_EQ(run(tree, strategy, 2, 19).makespan, together ? 6 : 11);
    EXPECT_EQ(run(tree, strategy, 2, 19).peak, together ? 20 : 11);
    const bool alone = strategy == Strategy::kAllToAll;
    EXPECT_EQ(run(tree, strategy, 2, 20).makespan, alone ? 11 : 6);
  }
}

TEST(CompareStrategies, AllToAllUsesEveryWorkerOfAMoldableTask) {
  const TaskTree tree(std::vector<Task>{
      {std::nullopt, 1, 0, 0, 8}, {task_id(0), 1, 9, 0, 8}, {task_id(0), 1, 9, 0, 8}});
  const std::vector<double> useful{4, 2, 1};
  const auto result =
      run_strategy(tree, sequential_orders(tree), Strategy::kAllToAll, {4, 11, useful});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->makespan, 2 + 4 + 8);
}

TEST(CompareStrategies, KeepTheBound) {
  std::mt19937 random(31);
  for (int round = 0; round < 10'000; ++round) {
    const TaskTree tree = random_tree(random, 1 + random() % 20);
    const SequentialOrders orders = sequential_orders(tree);
    const Bytes least = orders.liu.peak;
    const Bytes bound = least + (random() % 3 == 0 ? 0 : random() % (least + 1));
    const auto workers = static_cast<std::int32_t>(1 + random() % 9);
    std::vector<double> useful;
    if (round % 2 == 1) useful.assign(tree.size(), 1.5 + round % 4);
    const Flops lower = lower_bounds(tree, workers, std::nullopt, useful).best();
    for (const Strategy strategy : kStrategies) {
      const auto result = run_strategy(tree, orders, strategy, {workers, bound, useful});
      if (!result) {
        ASSERT_LT(bound, orders.postorder.peak) << name(strategy) << describe(tree);
        ASSERT_EQ(result.error().least_bytes, orders.postorder.peak);
        ASSERT_EQ(result.error().reason, Infeasible::Reason::kNoneFound);
        continue;
      }
      ASSERT_GE(result->makespan, lower * (1 - 1e-12))
          << name(strategy) << describe(tree);
      if (strategy != Strategy::kProportional) {
        ASSERT_LE(result->peak, bound) << name(strategy) << describe(tree);
      }
    }
  }
}

TEST(CompareStrategies, BookingIsWhatAPlanPredicts) {
  std::mt19937 random(32);
  for (int round = 0; round < 500; ++round) {
    const auto tree =
        std::make_shared<const TaskTree>(random_tree(random, 1 + random() % 30));
    const SequentialOrders orders = sequential_orders(*tree);
    const Bytes bound = orders.liu.peak + random() % 9;
    const bool liu = round % 2 == 0;
    const auto plan = make_plan(tree,
                                {.workers = 3,
                                 .memory_bound = bound,
                                 .order = liu ? OrderKind::kLiu : OrderKind::kParallel},
                                orders);
    const auto result =
        run_strategy(*tree, orders, liu ? Strategy::kBooking : Strategy::kParallelOrder,
                     {3, bound, {}});
    ASSERT_TRUE(plan && result);
    ASSERT_EQ(result->makespan, plan->makespan) << describe(*tree);
    ASSERT_EQ(result->peak, plan->peak) << describe(*tree);
  }
}

TEST(CompareStrategies, RefuseABoundBelowLiusPeak) {
  const TaskTree tree = worked_example();
  const SequentialOrders orders = sequential_orders(tree);
  for (const Strategy strategy : kStrategies) {
    const auto result = run_strategy(tree, orders, strategy, {2, 14, {}});
    ASSERT_FALSE(result) << name(strategy);
    EXPECT_EQ(result.error().reason, Infeasible::Reason::kImpossible);
    EXPECT_EQ(result.error().least_bytes, 15);
  }
}

TEST(CompareStrategies, AcceptExtremes) {
  const Bytes large = Bytes{1} << 61;
  const TaskTree near_limit(std::vector<Task>{{std::nullopt, 0, 0, 0, 1},
                                              {task_id(0), 5, large, 0, 1},
                                              {task_id(0), 6, large, 0, 1}});
  std::vector<Task> chain(20'000, Task{std::nullopt, 2, 3, 0, 1}), star = chain;
  for (std::size_t i = 1; i < chain.size(); ++i) {
    chain[i].parent = task_id(i - 1);
    star[i].parent = task_id(0);
  }
  for (const TaskTree& tree :
       {TaskTree(), TaskTree(std::vector<Task>{{std::nullopt, 3, 4, 5, 6}}), near_limit,
        TaskTree(chain), TaskTree(star)}) {
    const SequentialOrders orders = sequential_orders(tree);
    for (const Strategy strategy : kStrategies) {
      const Bytes bound = orders.postorder.peak;
      const auto result = run_strategy(tree, orders, strategy, {8, bound, {}});
      ASSERT_TRUE(result) << name(strategy);
      EXPECT_GE(result->makespan, static_cast<Flops>(tree.size()) / 8) << name(strategy);
    }
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier
