#include "espalier/parallel/memory_aware_mapping.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "espalier/parallel/admission.h"
#include "espalier/parallel/mapping.h"
#include "espalier/sequential/tree/best_postorder.h"
#include "espalier/sequential/tree/liu_traversal.h"
#include "parallel/instances.h"

namespace espalier {
namespace TEST_SOURCE {

/// Most memory in one random execution that honours tree and barriers, on any number of
/// workers: at each step a startable task starts or a running one ends. Work conserving
/// or not, every execution is such a sequence. -1: stuck.
Bytes random_execution_peak(const TaskTree& tree, const Serialisation& serialisation,
                            std::mt19937& random) {
  BarrierAdmission admission(tree, serialisation);
  std::vector<TaskId> startable, running;
  admission.begin(startable);
  const auto take = [&](std::vector<TaskId>& from) {
    std::swap(from[random() % from.size()], from.back());
    const TaskId task = from.back();
    from.pop_back();
    return task;
  };
  const unsigned eagerness = random() % 8;  // how much starting is preferred to ending
  Bytes resident = 0, peak = 0;
  std::size_t ended = 0;
  while (!startable.empty() || !running.empty()) {
    if (!startable.empty() && (running.empty() || random() % 8 <= eagerness)) {
      running.push_back(take(startable));
      resident +=
          tree.memory_requirement(running.back()) - tree.input_size(running.back());
      peak = std::max(peak, resident);
    } else {
      const TaskId task = take(running);
      resident -= tree.execution_size(task) + tree.input_size(task);
      ++ended;
      admission.complete(task, startable);
    }
  }
  return ended == tree.size() ? peak : -1;
}

// Most memory under any timing: the sum of the roots' D.
Bytes most_memory(const TaskTree& tree) {
  const SubtreePeaks subtrees = subtree_postorder_peaks(tree);
  std::vector<Bytes> most(tree.size(), 0);
  Bytes sum = 0;
  for (const TaskId task : tree.postorder()) {
    most[index(task)] = std::max(most[index(task)], subtrees.left_behind[index(task)] +
                                                        tree.input_size(task) +
                                                        tree.execution_size(task));
    const auto parent = tree.parent(task);
    (parent ? most[index(*parent)] : sum) += most[index(task)];
  }
  return sum;
}

// Two subtrees (f 1, m 9) of peak 10 under a root; together they need 20.
TaskTree two_large_leaves() {
  return TaskTree(std::vector<Task>{
      {std::nullopt, 1, 0, 0, 1}, {task_id(0), 1, 9, 0, 5}, {task_id(0), 1, 9, 0, 5}});
}

TEST(MemoryAwareMapping, RunsSiblingsTogetherWhenTheyFit) {
  const auto result = memory_aware(two_large_leaves(), 2, 20);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->mapping, (Mapping{{0, 2}, {0, 1}, {1, 1}}));
  EXPECT_EQ(result->serialisation.barriers, 0);
  EXPECT_EQ(result->guaranteed_peak, 20);
}

TEST(MemoryAwareMapping, SerialisesSiblingsOnAllWorkersWhenTheyDoNot) {
  const auto result = memory_aware(two_large_leaves(), 2, 19);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->mapping, (Mapping{{0, 2}, {0, 2}, {0, 2}}));
  EXPECT_EQ(result->serialisation.barriers, 1);
  EXPECT_EQ(result->serialisation.signals, (std::vector<std::int32_t>{-1, 0, -1}));
  EXPECT_EQ(result->serialisation.waits, (std::vector<std::int32_t>{-1, -1, 0}));
  EXPECT_EQ(result->guaranteed_peak, 11);
}

TEST(MemoryAwareMapping, CountsWhatEarlierGroupsRetain) {
  const TaskTree tree(std::vector<Task>{
      {std::nullopt, 1, 0, 0, 1}, {task_id(0), 1, 9, 5, 5}, {task_id(0), 1, 9, 5, 5}});
  EXPECT_EQ(memory_aware(tree, 2, 21)->guaranteed_peak, 21);
  const auto refused = memory_aware(tree, 2, 20);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().least_bytes, 21);
}

TEST(MemoryAwareMapping, FormsGroupsOfSiblings) {
  std::vector<Task> tasks(1);
  for (int i = 0; i < 4; ++i) tasks.push_back({task_id(0), 1, 9, 0, 5});
  const auto result = memory_aware(TaskTree(tasks), 2, 22);  // 10 + 10, then 2 + 10 + 10
  ASSERT_TRUE(result);
  EXPECT_EQ(result->mapping, (Mapping{{0, 2}, {0, 1}, {1, 1}, {0, 1}, {1, 1}}));
  EXPECT_EQ(result->serialisation.barriers, 1);
  EXPECT_EQ(result->guaranteed_peak, 22);
}

TEST(MemoryAwareMapping, AllOrNothingTakesNoGroups) {
  std::vector<Task> tasks(1);
  for (int i = 0; i < 4; ++i) tasks.push_back({task_id(0), 1, 9, 0, 5});
  const TaskTree tree(tasks);
  const auto result =
      memory_aware(tree, best_postorder(tree), 2, 22, GroupRule::kAllOrNothing);
  EXPECT_EQ(result.mapping, (Mapping{{0, 2}, {0, 2}, {0, 2}, {0, 2}, {0, 2}}));
  EXPECT_EQ(result.serialisation.barriers, 3);
  EXPECT_EQ(result.guaranteed_peak, 3 + 10);
  EXPECT_EQ(memory_aware(tree, best_postorder(tree), 2, 40, GroupRule::kAllOrNothing)
                .serialisation.barriers,
            0);
}

TEST(MemoryAwareMapping, ProportionalBudgetsFollowTheWork) {
  // Both leaves need 10 bytes, one of them has a tenth of the work.
  const TaskTree tree(std::vector<Task>{
      {std::nullopt, 1, 0, 0, 1}, {task_id(0), 1, 9, 0, 1}, {task_id(0), 1, 9, 0, 9}});
  const auto barriers = [&tree](Bytes bound, GroupRule rule) {
    return memory_aware(tree, best_postorder(tree), 2, bound, rule)
        .serialisation.barriers;
  };
  EXPECT_EQ(barriers(20, GroupRule::kNeed), 0);
  EXPECT_EQ(barriers(99, GroupRule::kProportional), 1);
  EXPECT_EQ(barriers(100, GroupRule::kProportional), 0);
  EXPECT_EQ(barriers(99, GroupRule::kAllOrNothing), 1);
  EXPECT_EQ(barriers(100, GroupRule::kAllOrNothing), 0);
}

TEST(MemoryAwareMapping, HoldsTheBoundUnderAnyTiming) {
  std::mt19937 random(11);
  for (int round = 0; round < 30'000; ++round) {
    const TaskTree tree = random_tree(random, 1 + random() % 16);
    const Traversal postorder = best_postorder(tree);
    const Bytes least = postorder.peak;
    const Bytes bound = least + (random() % 3 == 0 ? 0 : random() % (least + 1));
    const auto workers = static_cast<std::int32_t>(1 + random() % 9);
    const auto rule = static_cast<GroupRule>(round % 3);
    const auto result = memory_aware(tree, postorder, workers, bound, rule);
    ASSERT_LE(result.guaranteed_peak, bound) << describe(tree);
    for (int run = 0; run < 5; ++run) {
      const Bytes peak = random_execution_peak(tree, result.serialisation, random);
      ASSERT_NE(peak, -1) << "stuck, round " << round << "\n" << describe(tree);
      ASSERT_LE(peak, result.guaranteed_peak)
          << "round " << round << ", bound " << bound << ", workers " << workers << "\n"
          << describe(tree);
    }
  }
}

TEST(MemoryAwareMapping, IsProportionalWhenTheBoundIsAmple) {
  std::mt19937 random(12);
  for (int round = 0; round < 5000; ++round) {
    const TaskTree tree = random_tree(random, 1 + random() % 40);
    const auto workers = static_cast<std::int32_t>(1 + random() % 40);
    const Bytes ample = most_memory(tree);
    const auto result = memory_aware(tree, workers, ample);
    ASSERT_TRUE(result);
    ASSERT_EQ(result->mapping, proportional(tree, workers)) << describe(tree);
    ASSERT_EQ(result->serialisation.barriers, 0) << describe(tree);
    ASSERT_EQ(result->guaranteed_peak, ample) << describe(tree);
  }
}

TEST(MemoryAwareMapping, RefusesABoundBelowTheBestPostorder) {
  std::mt19937 random(13);
  for (int round = 0; round < 500; ++round) {
    const TaskTree tree = random_tree(random, 1 + random() % 12);
    const Bytes postorder = best_postorder(tree).peak, liu = liu_traversal(tree).peak;
    const auto result = memory_aware(tree, 4, postorder - 1);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().least_bytes, postorder);
    EXPECT_EQ(result.error().lower_bound_bytes, liu);
    EXPECT_EQ(result.error().reason == Infeasible::Reason::kImpossible,
              postorder - 1 < liu);
  }
}

TEST(MemoryAwareMapping, AcceptsExtremes) {
  EXPECT_TRUE(memory_aware(TaskTree(), 3, 0)->mapping.empty());
  const Bytes large = Bytes{1} << 61;
  const TaskTree tree(std::vector<Task>{{std::nullopt, 0, 0, 0, 1},
                                        {task_id(0), 5, large, 0, 1},
                                        {task_id(0), 6, large, 0, 1}});
  for (const GroupRule rule : {GroupRule::kAllOrNothing, GroupRule::kProportional}) {
    const Traversal postorder = best_postorder(tree);
    EXPECT_EQ(memory_aware(tree, postorder, 2, large + 11, rule).guaranteed_peak,
              postorder.peak);
    EXPECT_EQ(memory_aware(tree, postorder, 2, std::numeric_limits<Bytes>::max(), rule)
                  .serialisation.barriers,
              0);
    EXPECT_THROW((void)memory_aware(tree, postorder, 2, large + 10, rule), InvalidInput);
  }
  EXPECT_EQ(memory_aware(tree, 2, large + 11)->serialisation.barriers, 1);
  EXPECT_EQ(memory_aware(tree, 2, 2 * large + 10)->serialisation.barriers, 1);
  EXPECT_EQ(memory_aware(tree, 2, 2 * large + 11)->serialisation.barriers, 0);
  for (const bool chain : {true, false}) {
    std::vector<Task> tasks(1'000'000, Task{std::nullopt, 2, 3, 0, 1});
    for (std::size_t i = 1; i < tasks.size(); ++i) {
      tasks[i].parent = task_id(chain ? i - 1 : 0);
    }
    const TaskTree big(tasks);
    const Bytes least = best_postorder(big).peak;
    EXPECT_LE(memory_aware(big, 1024, least)->guaranteed_peak, least);
    const auto groups =
        memory_aware(big, best_postorder(big), 1024, least, GroupRule::kProportional);
    EXPECT_LE(groups.guaranteed_peak, least);
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier
