#include "espalier/parallel/parallel_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "espalier/model/validate.h"
#include "espalier/parallel/admission.h"
#include "espalier/parallel/simulate.h"
#include "parallel/instances.h"

namespace espalier {
namespace TEST_SOURCE {

Flops makespan(const TaskTree& tree, const std::vector<TaskId>& order,
               const ParallelOrderOptions& options) {
  BookingAdmission admission(tree, order, options.memory_bound);
  return simulate(tree, admission, {options.workers, options.max_workers, {}}).makespan;
}

// The least makespan that memory booking reaches with any order of peak <= M.
Flops best_of_all_orders(const TaskTree& tree, const ParallelOrderOptions& options) {
  std::vector<TaskId> order(tree.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = task_id(i);
  Flops best = std::numeric_limits<Flops>::max();
  do {
    std::vector<bool> ran(tree.size(), false);
    const bool topological = std::ranges::all_of(order, [&](TaskId task) {
      ran[index(task)] = true;
      return std::ranges::all_of(tree.children(task),
                                 [&](TaskId child) { return ran[index(child)]; });
    });
    if (topological && peak_of(tree, order) <= options.memory_bound) {
      best = std::min(best, makespan(tree, order, options));
    }
  } while (std::ranges::next_permutation(order).found);
  return best;
}

TEST(ParallelOrder, IsSafeAndNeverSlowerThanLiu) {
  std::mt19937 random(41);
  for (int round = 0; round < 12'000; ++round) {
    const TaskTree tree = random_tree(random, 1 + random() % 25);
    const SequentialOrders orders = sequential_orders(tree);
    const Bytes least = orders.liu.peak;
    std::vector<double> useful;
    if (round % 2 == 1) {
      for (std::size_t i = 0; i < tree.size(); ++i) {
        useful.push_back(1 + static_cast<double>(random() % 12) / 3);
      }
    }
    const ParallelOrderOptions options{
        static_cast<std::int32_t>(1 + random() % 20),
        least + (random() % 3 == 0 ? 0 : static_cast<Bytes>(random() % (least + 1))),
        useful};
    const Traversal found = parallel_order(tree, orders, options);
    ASSERT_EQ(validate(tree, found), Violations{}) << describe(tree, found.order);
    ASSERT_LE(found.peak, options.memory_bound) << describe(tree, found.order);
    ASSERT_LE(makespan(tree, found.order, options),
              makespan(tree, orders.liu.order, options))
        << describe(tree, found.order);
  }
}

TEST(ParallelOrder, IsOftenTheBestOfAllOrdersOfSmallTrees) {
  std::mt19937 random(42);
  int best = 0, liu = 0;
  constexpr int kRounds = 400;
  for (int round = 0; round < kRounds; ++round) {
    const TaskTree tree = random_tree(random, 6);
    const SequentialOrders orders = sequential_orders(tree);
    const ParallelOrderOptions options{
        3, orders.liu.peak + static_cast<Bytes>(random() % (orders.liu.peak + 1)), {}};
    const Flops least = best_of_all_orders(tree, options);
    const Traversal found = parallel_order(tree, orders, options);
    const Flops ours = makespan(tree, found.order, options);
    ASSERT_GE(ours, least) << describe(tree, found.order);
    best += ours == least ? 1 : 0;
    liu += makespan(tree, orders.liu.order, options) == least ? 1 : 0;
  }
  EXPECT_GT(best, liu);
  EXPECT_GT(best, kRounds * 9 / 10);
}

// A binary tree of fronts that shrink from parent to child, as nested dissection makes
// it: where memory holds two branches but not all, interleaving them keeps workers
// busier.
TEST(ParallelOrder, FindsFasterOrdersOfABinaryTreeOfFronts) {
  std::vector<Task> tasks(511);
  std::vector<double> useful(tasks.size(), 1);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (i > 0) tasks[i].parent = task_id((i - 1) / 2);
    double order = 256;
    for (std::size_t k = i; k > 0; k = (k - 1) / 2) order /= k % 2 == 0 ? 1.2 : 1.6;
    tasks[i].output_size = static_cast<Bytes>(order * order);
    tasks[i].execution_size = static_cast<Bytes>(order * order / 2);
    tasks[i].work = order * order * order;
    useful[i] = std::max(1.0, order * order / 6000);
  }
  const TaskTree tree(tasks);
  const SequentialOrders orders = sequential_orders(tree);
  Flops ours = 0, liu = 0;
  for (const int quarters : {4, 5, 6, 8}) {
    const ParallelOrderOptions options{32, orders.liu.peak / 4 * quarters + 3, useful};
    const Traversal found = parallel_order(tree, orders, options);
    EXPECT_EQ(validate(tree, found), Violations{});
    EXPECT_LE(found.peak, options.memory_bound);
    ours += makespan(tree, found.order, options);
    liu += makespan(tree, orders.liu.order, options);
  }
  EXPECT_LT(ours, 0.99 * liu);
}

TEST(ParallelOrder, RefusesWhatDoesNotFit) {
  const TaskTree tree = worked_example();
  const SequentialOrders orders = sequential_orders(tree);
  EXPECT_THROW((void)parallel_order(tree, orders, {2, 14, {}}), InvalidInput);
  EXPECT_THROW((void)parallel_order(tree, orders, {0, 15, {}}), InvalidInput);
  const std::vector<double> useful{1, 2};
  EXPECT_THROW((void)parallel_order(tree, orders, {2, 15, useful}), InvalidInput);
}

TEST(ParallelOrder, AcceptsExtremes) {
  EXPECT_TRUE(parallel_order(TaskTree(), {}, {4, 0, {}}).order.empty());
  const Bytes large = Bytes{1} << 61;
  const TaskTree near_limit(std::vector<Task>{{std::nullopt, 0, 0, 0, 1},
                                              {task_id(0), 5, large, 0, 1},
                                              {task_id(0), 6, large, 0, 1},
                                              {task_id(0), 7, 1, 0, 1}});
  for (const Bytes more : {Bytes{0}, std::numeric_limits<Bytes>::max() - large - 20}) {
    const SequentialOrders orders = sequential_orders(near_limit);
    const Bytes bound = orders.liu.peak + more;
    EXPECT_LE(parallel_order(near_limit, orders, {3, bound, {}}).peak, bound);
  }
  for (const bool chain : {true, false}) {
    std::vector<Task> tasks(1'000'000, Task{std::nullopt, 2, 3, 0, 1});
    for (std::size_t i = 1; i < tasks.size(); ++i) {
      tasks[i].parent = task_id(chain ? i - 1 : 0);
    }
    const TaskTree tree(tasks);
    const SequentialOrders orders = sequential_orders(tree);
    const Traversal found = parallel_order(tree, orders, {16, orders.liu.peak, {}});
    EXPECT_EQ(validate(tree, found), Violations{});
    EXPECT_LE(found.peak, orders.liu.peak);
  }
}

// Coarse trees and whole ones are searched alike.
TEST(ParallelOrder, IsSafeOnTreesThatAreSearchedCoarse) {
  std::mt19937 random(43);
  for (int round = 0; round < 20; ++round) {
    const TaskTree tree = random_tree(random, 3000 + random() % 2000);
    const SequentialOrders orders = sequential_orders(tree);
    const std::vector<double> useful(tree.size(), 1 + round % 3);
    const ParallelOrderOptions options{
        8, orders.liu.peak + orders.liu.peak / 4 * (round % 4), useful};
    const Traversal found = parallel_order(tree, orders, options);
    ASSERT_EQ(validate(tree, found), Violations{}) << round;
    ASSERT_LE(found.peak, options.memory_bound) << round;
    ASSERT_LE(makespan(tree, found.order, options),
              makespan(tree, orders.liu.order, options))
        << round;
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier
