#include "solver/distributed/subtree_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "espalier/model/error.h"
#include "espalier/parallel/worker_share.h"
#include "support/random_tree.h"
#include "support/tree_shapes.h"

namespace espalier::solver {
namespace TEST_SOURCE {

using Groups = std::vector<WorkerRange>;

TaskTree with_work(const std::vector<std::int32_t>& parents,
                   const std::vector<Flops>& work) {
  std::vector<Task> tasks(parents.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (parents[i] >= 0) tasks[i].parent = TaskId{parents[i]};
    tasks[i].work = work[i];
  }
  return TaskTree(tasks);
}

std::vector<bool> all_may(const TaskTree& tree) { return std::vector(tree.size(), true); }

// The most work that one process has alone.
Flops largest_load(const TaskTree& tree, const Groups& groups, std::int32_t processes) {
  std::vector<Flops> load(static_cast<std::size_t>(processes), 0);
  for (std::size_t i = 0; i < tree.size(); ++i)
    if (groups[i].count == 1) load[groups[i].first] += tree.work(task_id(i));
  return *std::max_element(load.begin(), load.end());
}

// 0 has children 1 (work 5 with its child 3) and 2 (4); W = 10, W/P = 5.
TEST(SubtreeGroups, ShareTheTopAndGiveSubtreesToSingleProcesses) {
  const TaskTree tree = with_work({-1, 0, 0, 1}, {1, 2, 4, 3});
  EXPECT_EQ(subtree_groups(tree, 2, all_may(tree), 1.0),
            (Groups{{0, 2}, {0, 1}, {1, 1}, {0, 1}}));
  // At most 4 each: task 1 is shared, too, and its child the lighter one.
  EXPECT_EQ(subtree_groups(tree, 2, all_may(tree), 0.8),
            (Groups{{0, 2}, {0, 2}, {0, 1}, {1, 1}}));
  // One process has everything.
  EXPECT_EQ(subtree_groups(tree, 1, all_may(tree), 1.0), Groups(4, {0, 1}));
}

TEST(SubtreeGroups, StopAtATaskThatCannotBeShared) {
  const TaskTree tree = with_work({-1, 0, 0, 1}, {1, 2, 4, 3});
  EXPECT_EQ(subtree_groups(tree, 2, {false, true, true, true}, 1.0), Groups(4, {0, 1}));
  EXPECT_EQ(subtree_groups(tree, 2, {true, false, true, true}, 0.8),
            (Groups{{0, 2}, {0, 1}, {1, 1}, {0, 1}}));
  EXPECT_THROW((void)subtree_groups(tree, 0, all_may(tree), 1.0), InvalidInput);
}

TEST(SubtreeGroups, KeepSubtreesTogetherAndLoadsBelowTheLimit) {
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    const TaskTree tree = support::varied_tree(random, round, 40);
    const std::int32_t processes = 1 + round % 5;
    const double most = round % 2 == 0 ? 1.0 : 0.5;
    const Groups groups = subtree_groups(tree, processes, all_may(tree), most);
    const WorkerRange everybody{0, processes};
    for (std::size_t i = 0; i < tree.size(); ++i) {
      ASSERT_TRUE(groups[i] == everybody ||
                  (groups[i].count == 1 && everybody.contains(groups[i].first)));
      const auto parent = tree.parent(task_id(i));
      if (parent && groups[index(*parent)].count == 1) {
        ASSERT_EQ(groups[i], groups[index(*parent)]);
      }
    }
    Flops all = 0;
    for (std::size_t i = 0; i < tree.size(); ++i) all += tree.work(task_id(i));
    const Flops limit = processes > 1 ? most * all / processes : all;
    ASSERT_LE(largest_load(tree, groups, processes), limit + 1e-9);
  }
}

TEST(SubtreeGroups, TakeTreesOfAnyShapeAndSize) {
  constexpr std::size_t kTasks = 300'000;
  for (const auto& tasks : {support::chain(kTasks), support::star(kTasks),
                            support::caterpillar(kTasks), support::balanced(kTasks)}) {
    const TaskTree tree(tasks);
    const Groups groups = subtree_groups(tree, 7, all_may(tree), 0.7);
    Flops all = 0;
    for (std::size_t i = 0; i < tree.size(); ++i) all += tree.work(task_id(i));
    EXPECT_LE(largest_load(tree, groups, 7), 0.7 * all / 7 * (1 + 1e-9));
    EXPECT_EQ(groups[index(tree.roots().front())], (WorkerRange{0, 7}));
  }
  EXPECT_TRUE(subtree_groups(TaskTree(std::vector<Task>{}), 3, {}, 1.0).empty());
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
