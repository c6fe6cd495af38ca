#include "espalier/sequential/out_of_core/validate_out_of_core.h"

#include <gtest/gtest.h>

#include <functional>

#include "espalier/sequential/out_of_core/plan_out_of_core.h"
#include "sequential/out_of_core/instances.h"
#include "support/tree_shapes.h"

namespace espalier {
namespace TEST_SOURCE {

using support::describe;

// 0 reads 1 and 2; the order is 1, 2, 0. While 2 runs 3 of 1's 5 bytes are out.
TaskTree small_tree() {
  return TaskTree(
      std::vector<Task>{{.output_size = 1},
                        {.parent = task_id(0), .output_size = 5, .retained_size = 2},
                        {.parent = task_id(0), .output_size = 3, .execution_size = 4}});
}

OutOfCorePlan small_plan() {
  return {.order = {task_id(1), task_id(2), task_id(0)},
          .bound = 9,
          .written = 5,
          .read = 3,
          .evictions = {{task_id(1), Eviction::Datum::kRetained, 2, 1, std::nullopt},
                        {task_id(1), Eviction::Datum::kOutput, 3, 1, 2}}};
}

TEST(ValidateOutOfCore, TakesAPlanThatIsRight) {
  OutOfCorePlan plan = small_plan();
  EXPECT_EQ(validate(small_tree(), plan), Violations{});
  EXPECT_NO_THROW((void)replay_out_of_core(small_tree(), plan));
}

TEST(ValidateOutOfCore, SaysWhatIsWrong) {
  const auto complaint = [](const std::function<void(OutOfCorePlan&)>& spoil) {
    OutOfCorePlan plan = small_plan();
    spoil(plan);
    const Violations wrong = validate(small_tree(), plan);
    return wrong.empty() ? std::string() : wrong.front();
  };
  const auto has = [](const std::string& text, const char* words) {
    EXPECT_NE(text.find(words), std::string::npos) << text;
  };
  has(complaint([](auto& plan) { plan.bound = 8; }), "runs in 9 bytes, the bound is 8");
  has(complaint([](auto& plan) { plan.written = 6; }), "5 bytes are written");
  has(complaint([](auto& plan) { plan.read = 0; }), "3 read");
  has(complaint([](auto& plan) { plan.order[0] = task_id(2); }), "has run");
  has(complaint([](auto& plan) { plan.order.pop_back(); }), "the tree 3");
  has(complaint([](auto& plan) { std::swap(plan.order[1], plan.order[2]); }),
      "after its parent");
  has(complaint([](auto& plan) { plan.evictions[1].written_at = 0; }), "they wait from");
  has(complaint([](auto& plan) { plan.evictions[1].written_at = 3; }), "they wait from");
  has(complaint([](auto& plan) { plan.evictions[1].read_at.reset(); }), "its parent's");
  has(complaint([](auto& plan) { plan.evictions[0].read_at = 2; }), "its parent's");
  has(complaint([](auto& plan) { plan.evictions[0].bytes = 0; }), "0 bytes");
  has(complaint([](auto& plan) {
        plan.evictions[1].bytes = 6;
        plan.written = 8;
        plan.read = 6;
      }),
      "6 bytes of task 1 leave, there are 5");
  has(complaint([](auto& plan) { plan.evictions[0].task = task_id(7); }), "task 7");
}

TEST(ValidateOutOfCore, AgreesWithReplayOnPlansOfAllMethods) {
  std::mt19937 random(61);
  for (int instance = 0; instance < 400; ++instance) {
    const TaskTree tree = support::varied_tree(random, instance, 14);
    const Bytes least = least_out_of_core(tree);
    for (const auto method : {OutOfCoreMethod::kPostOrderMinIO, OutOfCoreMethod::kLiu,
                              OutOfCoreMethod::kRecExpand}) {
      OutOfCorePlan plan = *plan_out_of_core(tree, least + instance % 5, method);
      ASSERT_EQ(validate(tree, plan), Violations{}) << describe(tree);
      const Bytes peak = replay_out_of_core(tree, plan).peak;
      plan.bound = peak;
      ASSERT_EQ(validate(tree, plan), Violations{}) << describe(tree);
      plan.bound = peak - 1;
      ASSERT_NE(validate(tree, plan), Violations{}) << describe(tree);
    }
  }
}

TEST(ValidateOutOfCore, OfALongChainAndOfNothing) {
  EXPECT_EQ(validate(TaskTree(), OutOfCorePlan{}), Violations{});
  const TaskTree tree(support::deep_random(100000));
  const auto plan =
      plan_out_of_core(tree, least_out_of_core(tree), OutOfCoreMethod::kLiu);
  EXPECT_EQ(validate(tree, *plan), Violations{});
}

}  // namespace TEST_SOURCE
}  // namespace espalier
