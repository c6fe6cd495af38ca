#include "espalier/sequential/out_of_core/replay_out_of_core.h"

#include <gtest/gtest.h>

#include "espalier/model/error.h"
#include "espalier/model/replay.h"
#include "sequential/out_of_core/instances.h"

namespace espalier {
namespace TEST_SOURCE {

constexpr auto kOutput = Eviction::Datum::kOutput, kRetained = Eviction::Datum::kRetained;

// Two leaves of 4 and 5 bytes, the first leaving 3 for good, and their parent.
//   order 1, 2, 0
TaskTree small_tree() {
  return TaskTree(
      std::vector<Task>{{.output_size = 2, .execution_size = 1},
                        {.parent = TaskId{0}, .output_size = 4, .retained_size = 3},
                        {.parent = TaskId{0}, .output_size = 5}});
}

OutOfCorePlan plan_with(std::vector<Eviction> evictions) {
  OutOfCorePlan plan;
  plan.order = {TaskId{1}, TaskId{2}, TaskId{0}};
  plan.evictions = std::move(evictions);
  return plan;
}

TEST(ReplayOutOfCore, FollowsAnExample) {
  const auto replay =
      replay_out_of_core(small_tree(), plan_with({{TaskId{1}, kOutput, 1, 1, 2},
                                                  {TaskId{1}, kRetained, 2, 1, {}},
                                                  {TaskId{1}, kRetained, 1, 2, {}}}));
  EXPECT_EQ(replay.running, (std::vector<Bytes>{7, 3 + 1 + 5, 4 + 5 + 3}));
  EXPECT_EQ(replay.peak, 12);
  EXPECT_EQ(replay.written, 4);
  EXPECT_EQ(replay.read, 1);
}

TEST(ReplayOutOfCore, WithoutEvictionsIsTheReplayInMemory) {
  std::mt19937 random(3);
  for (int instance = 0; instance < 1000; ++instance) {
    const TaskTree tree = support::varied_tree(random, instance, 30);
    OutOfCorePlan plan;
    plan.order = support::random_order(tree, random);
    EXPECT_EQ(replay_out_of_core(tree, plan).peak, replay(tree, plan.order).peak)
        << support::describe(tree);
  }
}

TEST(ReplayOutOfCore, RefusesWhatCannotBeDone) {
  const TaskTree tree = small_tree();
  const auto refuses = [&](Eviction eviction) {
    EXPECT_THROW((void)replay_out_of_core(tree, plan_with({eviction})), InvalidInput);
  };
  refuses({TaskId{1}, kOutput, 5, 1, 2});     // more than there is
  refuses({TaskId{1}, kRetained, 4, 2, {}});  // of the other kind, too
  refuses({TaskId{1}, kOutput, 0, 1, 2});     // nothing
  refuses({TaskId{1}, kOutput, 1, 0, 2});     // before it exists
  refuses({TaskId{2}, kOutput, 1, 1, 2});     // before it exists
  refuses({TaskId{0}, kOutput, 1, 2, {}});    // before it has ended
  refuses({TaskId{1}, kOutput, 1, 3, 2});     // after the last position
  refuses({TaskId{1}, kOutput, 1, 1, 1});     // read by another
  refuses({TaskId{1}, kOutput, 1, 1, {}});    // read by nobody
  refuses({TaskId{1}, kRetained, 1, 1, 2});   // read though nobody does
  refuses({TaskId{7}, kOutput, 1, 1, 2});     // no task
  EXPECT_THROW((void)replay_out_of_core(tree, plan_with({{TaskId{1}, kOutput, 3, 1, 2},
                                                         {TaskId{1}, kOutput, 2, 2, 2}})),
               InvalidInput);  // together more than there is
  EXPECT_THROW((void)replay_out_of_core(tree, plan_with({{TaskId{1}, kOutput, 1, 2, 2},
                                                         {TaskId{1}, kOutput, 1, 1, 2}})),
               InvalidInput);  // not by position
}

TEST(ReplayOutOfCore, RefusesAnOutputThatLeavesAfterItWasRead) {
  const TaskTree chain = support::atomic_tree({-1, 0, 1}, {1, 2, 3});
  OutOfCorePlan plan;
  plan.order = {TaskId{2}, TaskId{1}, TaskId{0}};
  plan.evictions = {{TaskId{2}, kOutput, 1, 2, 1}};
  EXPECT_THROW((void)replay_out_of_core(chain, plan), InvalidInput);
}

TEST(ReplayOutOfCore, RefusesWhatIsNoOrder) {
  OutOfCorePlan plan;
  for (const auto& order :
       std::vector<std::vector<TaskId>>{{},
                                        {TaskId{0}, TaskId{1}, TaskId{2}},
                                        {TaskId{1}, TaskId{1}, TaskId{0}},
                                        {TaskId{1}, TaskId{2}, TaskId{9}}}) {
    plan.order = order;
    EXPECT_THROW((void)replay_out_of_core(small_tree(), plan), InvalidInput);
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier
