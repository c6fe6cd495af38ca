#include "espalier/model/replay.h"

#include <gtest/gtest.h>

#include "espalier/model/error.h"
#include "espalier/model/validate.h"
#include "support/exact_peak.h"
#include "support/random_tree.h"

namespace espalier {
namespace TEST_SOURCE {

using support::describe;

TaskTree small_tree() {
  return TaskTree(
      std::vector<Task>{{.output_size = 1, .execution_size = 1},
                        {.parent = task_id(0), .output_size = 2, .retained_size = 5},
                        {.parent = task_id(0), .output_size = 3, .execution_size = 4}});
}

TEST(Replay, FollowsMemoryOneTaskAfterTheOther) {
  const std::vector<TaskId> order = {task_id(2), task_id(1), task_id(0)};
  const Replay result = replay(small_tree(), order);
  EXPECT_EQ(result.profile, (std::vector<MemoryPoint>{
                                {0, 7}, {1, 3}, {1, 10}, {2, 10}, {2, 12}, {3, 6}}));
  EXPECT_EQ(result.peak, 12);
  EXPECT_EQ(result.peak_task, task_id(0));
  EXPECT_EQ(result.peak_time, 2);
  EXPECT_EQ(result.makespan, 3);
}

TEST(Replay, FollowsMemoryInTime) {
  const Schedule schedule{{2, 0, 1}, {4, 2, 2}, 2, {1, 1, 1}, {}};
  const Replay result = replay(small_tree(), schedule);
  EXPECT_EQ(result.profile, (std::vector<MemoryPoint>{
                                {0, 7}, {1, 14}, {2, 14}, {2, 10}, {2, 12}, {4, 6}}));
  EXPECT_EQ(result.peak, 14);
  EXPECT_EQ(result.peak_task, task_id(2));
  EXPECT_EQ(result.makespan, 4);
}

TEST(Replay, MatchesTheDefinitionOnRandomOrders) {
  std::mt19937 random(31);
  for (int instance = 0; instance < 2000; ++instance) {
    const TaskTree tree = support::varied_tree(random, instance, 20);
    const std::vector<TaskId> order = support::random_order(tree, random);
    ASSERT_EQ(replay(tree, order).peak, support::peak_of(tree, order))
        << describe(tree) << describe(order);
  }
}

// Starts and ends drawn so that children end before parents start; some take no time.
Schedule random_schedule(const TaskTree& tree, std::mt19937& random) {
  Schedule schedule;
  schedule.sequence = support::random_order(tree, random);
  schedule.start.resize(tree.size());
  schedule.end.resize(tree.size());
  std::uniform_int_distribution<int> step(0, 2);
  Seconds now = 0;
  for (const TaskId task : schedule.sequence) {
    now += step(random);
    Seconds start = now;
    for (const TaskId child : tree.children(task)) {
      start = std::max(start, schedule.end[index(child)]);
    }
    now = start;  // starts never go back, as in a run
    schedule.start[index(task)] = start;
    schedule.end[index(task)] = start + step(random);
  }
  schedule.workers = static_cast<std::int32_t>(tree.size());
  return schedule;
}

TEST(Replay, AgreesWithValidateOnRandomSchedules) {
  std::mt19937 random(37);
  for (int instance = 0; instance < 3000; ++instance) {
    const TaskTree tree = support::varied_tree(random, instance, 12);
    const Schedule schedule = random_schedule(tree, random);
    const Bytes peak = replay(tree, schedule).peak;
    ASSERT_EQ(validate(tree, schedule, peak), Violations()) << describe(tree);
    if (peak > 0) {
      ASSERT_EQ(validate(tree, schedule, peak - 1).size(), 1) << describe(tree);
    }
  }
}

TEST(Replay, OfOneWorkerIsThatOfTheOrder) {
  std::mt19937 random(41);
  for (int instance = 0; instance < 300; ++instance) {
    const TaskTree tree = support::varied_tree(random, instance, 20);
    const std::vector<TaskId> order = support::random_order(tree, random);
    Schedule schedule;
    schedule.start.resize(tree.size());
    schedule.end.resize(tree.size());
    for (std::size_t k = 0; k < order.size(); ++k) {
      schedule.start[index(order[k])] = static_cast<Seconds>(k);
      schedule.end[index(order[k])] = static_cast<Seconds>(k + 1);
    }
    EXPECT_EQ(replay(tree, schedule).profile, replay(tree, order).profile);
    for (Seconds& time : schedule.start) time = 0;  // no task takes time
    for (Seconds& time : schedule.end) time = 0;
    schedule.sequence = order;
    EXPECT_EQ(replay(tree, schedule).peak, replay(tree, order).peak);
  }
}

TEST(Replay, RefusesWhatTheTreeForbids) {
  const TaskTree tree = small_tree();
  using Order = std::vector<TaskId>;
  EXPECT_THROW((void)replay(tree, Order{task_id(1), task_id(2)}), InvalidInput);
  EXPECT_THROW((void)replay(tree, Order{task_id(1), task_id(0), task_id(2)}),
               InvalidInput);
  EXPECT_THROW((void)replay(tree, Order{task_id(1), task_id(1), task_id(0)}),
               InvalidInput);
  EXPECT_THROW((void)replay(tree, Order{task_id(1), task_id(2), task_id(3)}),
               InvalidInput);
  const auto in_time = [&](Schedule schedule) { (void)replay(tree, schedule); };
  EXPECT_THROW(in_time({{1, 0, 1}, {4, 2, 2}}), InvalidInput);
  EXPECT_THROW(in_time({{2, 0, 1}, {1, 2, 2}}), InvalidInput);
  EXPECT_THROW(in_time({{2, 0}, {4, 2}}), InvalidInput);
}

TEST(Replay, OfNothingIsNothing) {
  EXPECT_EQ(replay(TaskTree(), std::vector<TaskId>()).peak, 0);
  EXPECT_EQ(replay(TaskTree(), Schedule()).peak_task, std::nullopt);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
