#include "espalier/model/task_tree.h"

#include <gtest/gtest.h>

#include <limits>

#include "espalier/model/error.h"
#include "espalier/model/work_sum.h"
#include "support/error_message.h"
#include "support/random_tree.h"
#include "support/tree_shapes.h"

namespace espalier {
namespace TEST_SOURCE {

constexpr Bytes kMost = std::numeric_limits<Bytes>::max();

std::string message_of(const std::vector<Task>& tasks) {
  return support::error_message<Error>([&] { return TaskTree(tasks); });
}

std::vector<std::int32_t> numbers(std::span<const TaskId> tasks) {
  std::vector<std::int32_t> result;
  for (const TaskId task : tasks) result.push_back(static_cast<std::int32_t>(task));
  return result;
}

TEST(TaskTree, ListsChildrenRootsAndPostorderByIncreasingId) {
  //   1       4        two trees
  //  / \      |
  // 3   0     5
  // |
  // 2
  const TaskTree tree(std::vector<Task>{{.parent = task_id(1), .output_size = 10},
                                        {.output_size = 1},
                                        {.parent = task_id(3), .output_size = 5},
                                        {.parent = task_id(1), .output_size = 7},
                                        {},
                                        {.parent = task_id(4), .execution_size = 2}});
  EXPECT_EQ(numbers(tree.roots()), (std::vector<std::int32_t>{1, 4}));
  EXPECT_EQ(numbers(tree.children(task_id(1))), (std::vector<std::int32_t>{0, 3}));
  EXPECT_TRUE(tree.children(task_id(2)).empty());
  EXPECT_EQ(numbers(tree.postorder()), (std::vector<std::int32_t>{0, 2, 3, 1, 5, 4}));
  EXPECT_EQ(tree.parent(task_id(2)), task_id(3));
  EXPECT_EQ(tree.parent(task_id(4)), std::nullopt);
  EXPECT_EQ(tree.input_size(task_id(1)), 17);
  EXPECT_EQ(tree.memory_requirement(task_id(1)), 18);
}

TEST(TaskTree, AnswersTheExampleOfItsHeader) {
  const TaskTree tree(
      std::vector<Task>{{.output_size = 1, .execution_size = 1},
                        {.parent = task_id(0), .output_size = 2},
                        {.parent = task_id(0), .output_size = 3, .execution_size = 4}});
  EXPECT_EQ(tree.memory_requirement(task_id(0)), 7);
}

TEST(TaskTree, VisitsEveryTaskOfRandomForestsOnceChildrenFirst) {
  std::mt19937 random(29);
  for (int instance = 0; instance < 300; ++instance) {
    const TaskTree tree = support::varied_tree(random, instance, 40);
    std::vector<bool> seen(tree.size(), false);
    for (const TaskId task : tree.postorder()) {
      EXPECT_FALSE(seen[index(task)]);
      for (const TaskId child : tree.children(task)) {
        EXPECT_EQ(tree.parent(child), task);
        EXPECT_TRUE(seen[index(child)]) << support::describe(tree);
      }
      seen[index(task)] = true;
    }
    EXPECT_EQ(tree.postorder().size(), tree.size());
  }
}

TEST(TaskTree, RefusesBadTasksByName) {
  EXPECT_EQ(message_of({{.output_size = 1}, {.output_size = -3}}),
            "task 1: output size -3 is negative");
  EXPECT_EQ(message_of({{.execution_size = -4}}),
            "task 0: execution size -4 is below 0: no more than its inputs or than what "
            "it leaves can share memory");
  EXPECT_EQ(message_of({{.retained_size = -5}}), "task 0: retained size -5 is negative");
  EXPECT_EQ(message_of({{.work = -1}}), "task 0: work -1 is negative or not finite");
  EXPECT_EQ(message_of({{.work = std::numeric_limits<double>::quiet_NaN()}}),
            "task 0: work nan is negative or not finite");
  EXPECT_EQ(message_of({{.parent = TaskId{7}}}),
            "task 0: parent 7 is not one of the 1 tasks");
  EXPECT_EQ(message_of({{.parent = TaskId{-1}}}),
            "task 0: parent -1 is not one of the 1 tasks");
}

TEST(TaskTree, RefusesCycles) {
  EXPECT_EQ(message_of({{.parent = task_id(0)}}), "task 0 is its own ancestor");
  // 3 hangs on the cycle 1 - 2, but is not on it.
  EXPECT_EQ(
      message_of(
          {{}, {.parent = task_id(2)}, {.parent = task_id(1)}, {.parent = task_id(2)}}),
      "task 1 is its own ancestor");
}

TEST(TaskTree, RefusesSizesWhoseSumOverflows) {
  EXPECT_NO_THROW(
      TaskTree(std::vector<Task>{{.output_size = kMost - 1}, {.retained_size = 1}}));
  EXPECT_THROW(TaskTree(std::vector<Task>{{.output_size = kMost}, {.execution_size = 1}}),
               OverflowError);
}

TEST(TaskTree, RefusesWorkWhoseSumIsTooLarge) {
  EXPECT_NO_THROW(TaskTree(std::vector<Task>{{.work = kMostWork}}));
  EXPECT_THROW(TaskTree(std::vector<Task>{{.work = kMostWork}, {.work = kMostWork}}),
               OverflowError);
}

TEST(TaskTree, HandlesNothingAndAMillionTasks) {
  EXPECT_TRUE(TaskTree().empty());
  EXPECT_TRUE(TaskTree(std::vector<Task>()).roots().empty());
  const TaskTree chain(support::chain(1'000'000));
  EXPECT_EQ(chain.postorder().front(), task_id(999'999));
  EXPECT_EQ(TaskTree(support::star(1'000'000)).children(task_id(0)).size(), 999'999);
}

TEST(Infeasible, SaysWhatWouldSuffice) {
  const Infeasible no{Infeasible::Reason::kImpossible, 10, 2048, 2000};
  EXPECT_EQ(no.message(),
            "a bound of 10 B (10 bytes) is too small: no schedule needs less than "
            "2.0 KiB (2000 bytes); 2.0 KiB (2048 bytes) suffices");
  const Infeasible unknown{Infeasible::Reason::kNoneFound, 5, 7, 0};
  EXPECT_EQ(unknown.message(),
            "no schedule found inside a bound of 5 B (5 bytes); 7 B (7 bytes) suffices");
}

}  // namespace TEST_SOURCE
}  // namespace espalier
