#include "espalier/sequential/tree/best_postorder.h"

#include <gtest/gtest.h>

#include <limits>

#include "espalier/model/validate.h"
#include "support/exact_peak.h"
#include "support/large_trees.h"
#include "support/random_tree.h"
#include "support/tree_shapes.h"

namespace espalier {
namespace TEST_SOURCE {

using support::describe;

// Root 0 above 1 and 2. Alone, 1 needs 10 and leaves 1, 2 needs 8 and leaves 5.
TaskTree two_children() {
  return TaskTree(
      std::vector<Task>{{.output_size = 1},
                        {.parent = task_id(0), .output_size = 1, .execution_size = 9},
                        {.parent = task_id(0), .output_size = 5, .execution_size = 3}});
}

TEST(BestPostorder, VisitsTheChildThatGivesBackMostFirst) {
  const Traversal traversal = best_postorder(two_children());
  EXPECT_EQ(traversal.order, (std::vector<TaskId>{task_id(1), task_id(2), task_id(0)}));
  EXPECT_EQ(traversal.peak, 10);  // the other way round: 5 + 10
}

TEST(BestPostorder, CountsRetainedMemoryAsLeftBehind) {
  // 1 needs 10 and leaves 1 + 6, 2 needs 8 and leaves 3: key 3 against 5.
  const TaskTree tree(std::vector<Task>{
      {.output_size = 1},
      {.parent = task_id(0), .output_size = 1, .execution_size = 3, .retained_size = 6},
      {.parent = task_id(0), .output_size = 3, .execution_size = 5}});
  const Traversal traversal = best_postorder(tree);
  EXPECT_EQ(traversal.order, (std::vector<TaskId>{task_id(2), task_id(1), task_id(0)}));
  EXPECT_EQ(traversal.peak, 13);
}

TEST(BestPostorder, MatchesBruteForceOnSmallTrees) {
  std::mt19937 random(1986);
  for (int instance = 0; instance < 4000; ++instance) {
    const TaskTree tree = support::varied_tree(random, instance, 8);
    Bytes least = std::numeric_limits<Bytes>::max();
    support::for_each_postorder(tree, [&](const std::vector<TaskId>& order) {
      least = std::min(least, support::peak_of(tree, order));
    });
    const Traversal traversal = best_postorder(tree);
    ASSERT_EQ(traversal.peak, least) << describe(tree);
    ASSERT_EQ(validate(tree, traversal), Violations()) << describe(tree);
  }
}

TEST(BestPostorder, KeepsSubtreesTogether) {
  std::mt19937 random(5);
  for (int instance = 0; instance < 300; ++instance) {
    const TaskTree tree = support::varied_tree(random, instance, 30);
    std::vector<std::size_t> subtree_size(tree.size(), 1);
    std::vector<std::size_t> first(tree.size());
    const std::vector<TaskId> order = best_postorder(tree).order;
    for (std::size_t k = 0; k < order.size(); ++k) {
      std::size_t start = k;
      for (const TaskId child : tree.children(order[k])) {
        subtree_size[index(order[k])] += subtree_size[index(child)];
        start = std::min(start, first[index(child)]);
      }
      first[index(order[k])] = start;
      ASSERT_EQ(start + subtree_size[index(order[k])], k + 1) << describe(tree);
    }
  }
}

// The tasks of one subtree as a tree of their own.
TaskTree subtree_of(const TaskTree& tree, TaskId root) {
  std::vector<std::optional<TaskId>> renamed(tree.size());
  std::vector<Task> tasks;
  const auto bottom_up = tree.postorder();
  for (auto task = bottom_up.rbegin(); task != bottom_up.rend(); ++task) {
    const auto parent = tree.parent(*task);
    const auto above = parent ? renamed[index(*parent)] : std::nullopt;
    if (*task != root && !above) continue;
    renamed[index(*task)] = task_id(tasks.size());
    tasks.push_back({*task == root ? std::nullopt : above, tree.output_size(*task),
                     tree.execution_size(*task), tree.retained_size(*task)});
  }
  return TaskTree(tasks);
}

TEST(SubtreePostorderPeaks, AreThoseOfTheSubtreesAlone) {
  std::mt19937 random(7);
  for (int instance = 0; instance < 300; ++instance) {
    const TaskTree tree = support::varied_tree(random, instance, 12);
    const SubtreePeaks peaks = subtree_postorder_peaks(tree);
    for (std::size_t i = 0; i < tree.size(); ++i) {
      const TaskTree subtree = subtree_of(tree, task_id(i));
      ASSERT_EQ(peaks.peak[i], best_postorder(subtree).peak) << i << "\n"
                                                             << describe(tree);
      const auto all = (std::uint32_t{1} << subtree.size()) - 1;
      ASSERT_EQ(peaks.left_behind[i], support::memory_after(subtree, all))
          << i << "\n"
          << describe(tree);
    }
  }
}

TEST(BestPostorder, BreaksTiesByTaskId) {
  const TaskTree tree(std::vector<Task>(5, Task{.output_size = 2, .execution_size = 1}));
  EXPECT_EQ(describe(best_postorder(tree).order), "0 1 2 3 4 ");
}

TEST(BestPostorder, OfNothingAndOfOneTask) {
  EXPECT_EQ(best_postorder(TaskTree()).peak, 0);
  const TaskTree one(
      std::vector<Task>{{.output_size = 3, .execution_size = 4, .retained_size = 5}});
  EXPECT_EQ(best_postorder(one).peak, 12);
}

TEST(BestPostorder, HandlesLargeTreesOfAnyShape) {
  support::expect_handles_large_trees(
      [](const TaskTree& tree) { return best_postorder(tree); });
}

TEST(BestPostorder, HandlesAChainOfAMillion) {
  support::expect_handles_a_long_chain(
      [](const TaskTree& tree) { return best_postorder(tree); });
}

TEST(BestPostorder, IsExactNearTheLargestSize) {
  constexpr Bytes kLarge = Bytes{1} << 62;
  const TaskTree tree(
      std::vector<Task>{{.output_size = 1},
                        {.parent = task_id(0), .output_size = kLarge},
                        {.parent = task_id(0), .execution_size = kLarge - 2}});
  // The child that leaves nothing goes first.
  EXPECT_EQ(best_postorder(tree).peak, kLarge + 1);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
