#include "espalier/sequential/tree/liu_traversal.h"

#include <gtest/gtest.h>

#include "espalier/model/replay.h"
#include "espalier/model/validate.h"
#include "espalier/sequential/tree/best_postorder.h"
#include "support/exact_peak.h"
#include "support/large_trees.h"
#include "support/random_tree.h"
#include "support/tree_shapes.h"

namespace espalier {
namespace TEST_SOURCE {

using support::describe;

// The harpoon of [JMRU11]: b branches root <- M/b <- eps <- M. Any postorder holds M/b of
// each finished branch; the optimum leaves every branch at its eps.
TaskTree harpoon(std::size_t branches, Bytes large, Bytes small) {
  std::vector<Task> tasks(1);
  for (std::size_t b = 0; b < branches; ++b) {
    const TaskId top = task_id(tasks.size());
    tasks.push_back({task_id(0), large / static_cast<Bytes>(branches)});
    tasks.push_back({top, small});
    tasks.push_back({task_id(index(top) + 1), large});
  }
  return TaskTree(tasks);
}

TEST(LiuTraversal, SolvesTheHarpoon) {
  const Bytes postorder[] = {19, 21, 22}, optimum[] = {14, 15, 16};
  for (std::size_t b = 2; b <= 4; ++b) {
    const TaskTree tree = harpoon(b, 12, 1);
    EXPECT_EQ(best_postorder(tree).peak, postorder[b - 2]);
    EXPECT_EQ(liu_traversal(tree).peak, optimum[b - 2]);
  }
}

TEST(LiuTraversal, IsBetterThanAnyPostorderByAnyFactor) {
  const TaskTree tree = harpoon(1000, 1'000'000, 1);
  EXPECT_EQ(best_postorder(tree).peak, 1'000'001 + 999 * 1000);
  EXPECT_EQ(liu_traversal(tree).peak, 1'000'001 + 999);
}

TEST(LiuTraversal, MatchesExactSearchOnSmallTrees) {
  std::mt19937 random(1987);
  for (int instance = 0; instance < 6000; ++instance) {
    const TaskTree tree = support::varied_tree(random, instance, 10);
    const Traversal traversal = liu_traversal(tree);
    ASSERT_EQ(traversal.peak, support::exact_peak(tree)) << describe(tree);
    ASSERT_EQ(validate(tree, traversal), Violations()) << describe(tree);
  }
}

TEST(LiuTraversal, LiesBetweenTheLargestTaskAndTheBestPostorder) {
  std::mt19937 random(11);
  for (int instance = 0; instance < 500; ++instance) {
    const TaskTree tree = support::random_tree(random, {.tasks = 300,
                                                        .largest_size = 1000,
                                                        .retains = instance % 2 == 0,
                                                        .root_probability = 0.01});
    Bytes largest = 0;
    for (const TaskId task : tree.postorder()) {
      largest = std::max(largest, tree.memory_requirement(task));
    }
    const Traversal liu = liu_traversal(tree);
    const Traversal postorder = best_postorder(tree);
    EXPECT_GE(liu.peak, largest);
    EXPECT_LE(liu.peak, postorder.peak);
    EXPECT_LE(postorder.peak, replay(tree, tree.postorder()).peak);
    EXPECT_LE(liu.peak, replay(tree, support::random_order(tree, random)).peak);
    EXPECT_EQ(replay(tree, liu.order).peak, liu.peak);
  }
}

TEST(LiuTraversal, ScalesWithTheSizes) {
  std::mt19937 random(13);
  for (int instance = 0; instance < 200; ++instance) {
    std::vector<Task> tasks =
        support::random_tasks(random, {.tasks = 40, .retains = true});
    const Bytes peak = liu_traversal(TaskTree(tasks)).peak;
    for (Task& task : tasks) {
      task.output_size *= 1'000'000'007;
      task.execution_size *= 1'000'000'007;
      task.retained_size *= 1'000'000'007;
    }
    EXPECT_EQ(liu_traversal(TaskTree(tasks)).peak, peak * 1'000'000'007);
  }
}

TEST(LiuTraversal, OfNothingOfOneTaskAndOfZeroSizes) {
  EXPECT_TRUE(liu_traversal(TaskTree()).order.empty());
  const TaskTree one(
      std::vector<Task>{{.output_size = 3, .execution_size = 4, .retained_size = 5}});
  EXPECT_EQ(liu_traversal(one).peak, 12);
  std::vector<Task> zeros(50);
  for (std::size_t i = 1; i < zeros.size(); ++i) zeros[i].parent = task_id((i - 1) / 3);
  EXPECT_EQ(validate(TaskTree(zeros), liu_traversal(TaskTree(zeros))), Violations());
}

TEST(LiuTraversal, HandlesLargeTreesOfAnyShape) {
  support::expect_handles_large_trees(
      [](const TaskTree& tree) { return liu_traversal(tree); });
}

TEST(LiuTraversal, HandlesAChainOfAMillion) {
  support::expect_handles_a_long_chain(
      [](const TaskTree& tree) { return liu_traversal(tree); });
}

TEST(LiuTraversal, RunsManyRoots) {
  std::vector<Task> tasks = support::star(100'000);
  for (Task& task : tasks) task.parent.reset();
  const TaskTree tree(tasks);
  EXPECT_EQ(validate(tree, liu_traversal(tree)), Violations());
}

TEST(LiuTraversal, IsExactNearTheLargestSize) {
  constexpr Bytes kLarge = Bytes{1} << 61;
  const TaskTree tree = harpoon(2, kLarge, 1);
  EXPECT_EQ(liu_traversal(tree).peak, kLarge + 2);
  EXPECT_EQ(validate(tree, liu_traversal(tree)), Violations());
}

}  // namespace TEST_SOURCE
}  // namespace espalier
