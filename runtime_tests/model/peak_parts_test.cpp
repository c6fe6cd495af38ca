#include "espalier/model/peak_parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "espalier/model/error.h"
#include "espalier/model/replay.h"
#include "support/random_tree.h"
#include "support/tree_shapes.h"

namespace espalier {
namespace TEST_SOURCE {

using support::describe;

// 0 reads 1 and 2; 2 reads 3. The order is 1, 3, 2, 0.
TaskTree small_tree() {
  return TaskTree(
      std::vector<Task>{{.output_size = 1},
                        {.parent = task_id(0), .output_size = 2, .retained_size = 5},
                        {.parent = task_id(0), .output_size = 3, .execution_size = 4},
                        {.parent = task_id(2), .output_size = 6, .retained_size = 7}});
}

TEST(PeakParts, NamesEveryByteOfAnExampleByHand) {
  const std::vector<TaskId> order = {task_id(1), task_id(3), task_id(2), task_id(0)};
  const auto parts = peak_parts(small_tree(), order);
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->task, task_id(2));
  EXPECT_EQ(parts->execution, 4);
  EXPECT_EQ(parts->output, 3);
  EXPECT_EQ(parts->retained, 0);
  EXPECT_EQ(parts->kept_before, 12);
  ASSERT_EQ(parts->waiting.size(), 2U);
  EXPECT_EQ(parts->waiting[0].reader, task_id(2));
  EXPECT_EQ(parts->waiting[0].outputs, std::vector{task_id(3)});
  EXPECT_EQ(parts->waiting[0].bytes, 6);
  EXPECT_EQ(parts->waiting[1].reader, task_id(0));
  EXPECT_EQ(parts->waiting[1].outputs, std::vector{task_id(1)});
  EXPECT_EQ(parts->waiting[1].bytes, 2);
  EXPECT_EQ(parts->total(), 27);
}

TEST(PeakParts, ReadersOnThePathComeBeforeOthersAndRootsLast) {
  // A root 0; 1 above 2 above 3, and 4 above 5. All leaves run before 3 does.
  const TaskTree tree(std::vector<Task>{{.output_size = 1},
                                        {.output_size = 1},
                                        {.parent = task_id(1), .output_size = 1},
                                        {.parent = task_id(2), .execution_size = 9},
                                        {.output_size = 1},
                                        {.parent = task_id(4), .output_size = 1},
                                        {.parent = task_id(1), .output_size = 1}});
  const std::vector<TaskId> order = {task_id(5), task_id(0), task_id(6), task_id(3),
                                     task_id(2), task_id(1), task_id(4)};
  const auto parts = peak_parts(tree, order);
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->task, task_id(3));
  ASSERT_EQ(parts->waiting.size(), 3U);
  EXPECT_EQ(parts->waiting[0].reader, task_id(1));
  EXPECT_EQ(parts->waiting[1].reader, task_id(4));
  EXPECT_EQ(parts->waiting[2].reader, std::nullopt);
}

TEST(PeakParts, AddUpToThePeak) {
  std::mt19937 random(59);
  for (int instance = 0; instance < 2000; ++instance) {
    const TaskTree tree = support::varied_tree(random, instance, 20);
    const std::vector<TaskId> order = support::random_order(tree, random);
    const auto parts = peak_parts(tree, order);
    ASSERT_EQ(parts->total(), replay(tree, order).peak)
        << describe(tree) << describe(order);
    for (const PeakParts::Waiting& group : parts->waiting)
      for (const TaskId each : group.outputs)
        ASSERT_EQ(tree.parent(each), group.reader) << describe(tree) << describe(order);
  }
}

TEST(PeakParts, AreNoneWithoutTasks) {
  EXPECT_FALSE(peak_parts(TaskTree(), {}).has_value());
}

TEST(PeakParts, RefuseWhatIsNoOrder) {
  const std::vector<TaskId> order = {task_id(0), task_id(1), task_id(3), task_id(2)};
  EXPECT_THROW((void)peak_parts(small_tree(), order), InvalidInput);
}

TEST(PeakParts, OfALongChainAndAWideStar) {
  for (const auto& tasks : {support::chain(300000), support::star(300000)}) {
    const TaskTree tree(tasks);
    const auto order = tree.postorder();
    EXPECT_EQ(peak_parts(tree, order)->total(), replay(tree, order).peak);
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier
