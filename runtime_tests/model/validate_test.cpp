#include "espalier/model/validate.h"

#include <gtest/gtest.h>

#include <memory>

#include "support/exact_peak.h"
#include "support/random_tree.h"

namespace espalier {
namespace TEST_SOURCE {

// f: root 1, children 2 and 3; m of 2 is 4. Peak of 1 2 0 is 2 + 7.
TaskTree small_tree() {
  return TaskTree(std::vector<Task>{
      {.output_size = 1, .execution_size = 1, .work = 2},
      {.parent = task_id(0), .output_size = 2, .work = 2},
      {.parent = task_id(0), .output_size = 3, .execution_size = 4, .work = 1}});
}

Traversal good_traversal() { return {{task_id(1), task_id(2), task_id(0)}, 9}; }

Schedule good_schedule() { return {{2, 0, 0}, {4, 2, 1}, 2, {2, 1, 1}, {}}; }

Plan good_plan() {
  Plan plan;
  plan.tree = std::make_shared<const TaskTree>(small_tree());
  plan.witness = good_traversal().order;
  plan.mapping = {{0, 2}, {0, 1}, {1, 1}};
  plan.priority = {2, 4, 3};
  plan.workers = 2;
  plan.memory_bound = 10;
  plan.witness_peak = 9;
  plan.least_bytes = 9;
  plan.schedule = good_schedule();
  plan.peak = 10;
  plan.makespan = 4;
  plan.lower_bounds = {2.5, 4, 1};
  return plan;
}

TEST(Validate, AcceptsWhatIsValid) {
  EXPECT_EQ(validate(small_tree(), good_traversal()), Violations());
  EXPECT_EQ(validate(small_tree(), good_schedule(), 9), Violations());
  EXPECT_EQ(validate(good_plan()), Violations());
  EXPECT_EQ(validate(TaskTree(), Traversal()), Violations());
  EXPECT_EQ(validate(TaskTree(), Schedule(), 0), Violations());
}

TEST(Validate, RefusesOrdersThatAreNotTraversals) {
  const auto complaint = [](std::vector<TaskId> order, Bytes peak) {
    const Violations found = validate(small_tree(), Traversal{std::move(order), peak});
    return found.empty() ? "none" : found.front();
  };
  EXPECT_EQ(complaint({task_id(1), task_id(2)}, 9), "task 0 is missing from the order");
  EXPECT_EQ(complaint({task_id(1), task_id(1), task_id(2), task_id(0)}, 9),
            "task 1 is at positions 0 and 1");
  EXPECT_EQ(complaint({task_id(1), task_id(2), task_id(3), task_id(0)}, 9),
            "position 2 holds task 3, the tree has 3 tasks");
  EXPECT_EQ(complaint({task_id(1), task_id(0), task_id(2)}, 9),
            "task 2 runs after its parent 0");
  EXPECT_EQ(complaint({task_id(1), task_id(2), task_id(0)}, 8), "the peak is 9, not 8");
  EXPECT_EQ(complaint({task_id(1), task_id(2), task_id(0)}, 10), "the peak is 9, not 10");
}

TEST(Validate, KnowsThePeakOfRandomOrders) {
  std::mt19937 random(43);
  for (int instance = 0; instance < 1000; ++instance) {
    const TaskTree tree = support::varied_tree(random, instance, 20);
    Traversal traversal{support::random_order(tree, random), 0};
    traversal.peak = support::peak_of(tree, traversal.order);
    ASSERT_EQ(validate(tree, traversal), Violations()) << support::describe(tree);
    ++traversal.peak;
    ASSERT_EQ(validate(tree, traversal).size(), 1);
  }
}

TEST(Validate, RefusesSchedulesThatCannotRun) {
  const auto complaint = [](const Schedule& schedule) {
    const Violations found = validate(small_tree(), schedule, 9);
    return found.empty() ? "none" : found.front();
  };
  Schedule early = good_schedule();
  early.start[0] = 1.5;
  EXPECT_EQ(complaint(early), "task 0 starts at 1.5, its child 1 ends at 2");
  Schedule crowded = good_schedule();
  crowded.share[2] = 1.5;
  EXPECT_EQ(complaint(crowded), "2.5 workers are busy at 0, there are 2");
  Schedule backwards = good_schedule();
  backwards.end[2] = -1;
  EXPECT_EQ(complaint(backwards), "task 2 runs from 0 to -1");
  Schedule incomplete = good_schedule();
  incomplete.end.pop_back();
  EXPECT_EQ(complaint(incomplete), "3 starts and 2 ends for 3 tasks");
}

TEST(Validate, RefusesSchedulesAboveTheBound) {
  EXPECT_EQ(validate(small_tree(), good_schedule(), 8),
            Violations{"9 bytes are in memory at 0, the bound is 8"});
}

TEST(Validate, RefusesPlansThatContradictThemselves) {
  const auto complaint = [](void (*spoil)(Plan&)) {
    Plan plan = good_plan();
    spoil(plan);
    const Violations found = validate(plan);
    return found.size() == 1 ? found.front() : std::to_string(found.size());
  };
  EXPECT_EQ(complaint([](Plan& p) { p.tree = nullptr; }), "there is no tree");
  EXPECT_EQ(complaint([](Plan& p) { p.witness_peak = 8; }), "the peak is 9, not 8");
  EXPECT_EQ(complaint([](Plan& p) { p.memory_bound = 9; }),
            "the run needs 10, the bound is 9");
  EXPECT_EQ(complaint([](Plan& p) { p.least_bytes = 10; }),
            "the least bound is 10, but the witness needs 9");
  EXPECT_EQ(complaint([](Plan& p) {
              p.mapping[2] = {1, 2};
            }),
            "task 2 is mapped to 2 workers from 1 on, there are 2");
  EXPECT_EQ(complaint([](Plan& p) {
              p.mapping[1] = {0, 0};
            }),
            "task 1 is mapped to 0 workers from 0 on, there are 2");
  EXPECT_EQ(complaint([](Plan& p) { p.priority[1] = 1; }),
            "task 1 has priority 1, its parent 2");
  EXPECT_EQ(complaint([](Plan& p) { p.makespan = 3; }),
            "the makespan 3 is below its lower bound 4");
  EXPECT_EQ(complaint([](Plan& p) { p.schedule.start[0] = 1; }),
            "task 0 starts at 1, its child 1 ends at 2");
}

TEST(Validate, StopsAfterTenViolations) {
  const TaskTree tree(std::vector<Task>(100));
  EXPECT_EQ(validate(tree, Traversal()).size(), 10);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
