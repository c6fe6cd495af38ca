#include "espalier/parallel/make_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "espalier/model/validate.h"
#include "espalier/sequential/tree/best_postorder.h"
#include "espalier/sequential/tree/liu_traversal.h"
#include "parallel/instances.h"

namespace espalier {
namespace TEST_SOURCE {

std::shared_ptr<const TaskTree> share(TaskTree tree) {
  return std::make_shared<const TaskTree>(std::move(tree));
}

// Two branches root <- 6 <- 1 <- 12: Liu 14, best postorder 19.
TaskTree harpoon() {
  std::vector<Task> tasks(1);
  for (int branch = 0; branch < 2; ++branch) {
    const auto base = tasks.size();
    tasks.push_back({task_id(0), 6, 0, 0, 1});
    tasks.push_back({task_id(base), 1, 0, 0, 1});
    tasks.push_back({task_id(base + 1), 12, 0, 0, 1});
  }
  return TaskTree(tasks);
}

PlanOptions options(std::int32_t workers, std::optional<Bytes> bound,
                    OrderKind order = OrderKind::kLiu,
                    MappingKind mapping = MappingKind::kMemoryAware) {
  return {workers, bound, order, mapping, {}};
}

TEST(MakePlan, AnswersTheWorkedExample) {
  const auto plan = make_plan(share(worked_example()), options(2, std::nullopt));
  ASSERT_TRUE(plan);
  EXPECT_EQ(validate(*plan), Violations{});
  EXPECT_EQ(plan->least_bytes, 15);
  EXPECT_EQ(plan->memory_bound, 15);
  EXPECT_EQ(plan->witness_peak, 15);
  EXPECT_EQ(plan->peak, 15);
  EXPECT_EQ(plan->makespan, 14);
  EXPECT_EQ(plan->lower_bounds.work, 9);
}

TEST(MakePlan, SaysWhyABoundIsTooSmall) {
  const auto tree = share(harpoon());
  const Bytes liu = liu_traversal(*tree).peak, postorder = best_postorder(*tree).peak;
  ASSERT_LT(liu, postorder);
  const auto impossible = make_plan(tree, options(2, liu - 1));
  ASSERT_FALSE(impossible);
  EXPECT_EQ(impossible.error().reason, Infeasible::Reason::kImpossible);
  EXPECT_EQ(impossible.error().bound_bytes, liu - 1);
  EXPECT_EQ(impossible.error().least_bytes, liu);
  EXPECT_EQ(impossible.error().lower_bound_bytes, liu);
  const auto none = make_plan(tree, options(2, postorder - 1, OrderKind::kPostorder));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().reason, Infeasible::Reason::kNoneFound);
  EXPECT_EQ(none.error().least_bytes, postorder);
  EXPECT_EQ(none.error().lower_bound_bytes, liu);
  EXPECT_TRUE(make_plan(tree, options(2, liu)));
  EXPECT_TRUE(make_plan(tree, options(2, postorder, OrderKind::kPostorder)));
}

// A bound in which another order fits is not impossible, and the bound of the answer is
// one in which the given order does fit.
TEST(MakePlan, DoesNotTakeAGivenOrderForLius) {
  const auto tree = share(harpoon());
  const Traversal liu = liu_traversal(*tree), postorder = best_postorder(*tree);
  const Witness witness = given_witness(*tree, postorder.order);
  EXPECT_FALSE(witness.origin.has_value());
  EXPECT_FALSE(witness.proves_least);
  const auto none = make_plan(tree, witness, options(2, postorder.peak - 1));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().reason, Infeasible::Reason::kNoneFound);
  EXPECT_EQ(none.error().least_bytes, postorder.peak);
  EXPECT_EQ(none.error().lower_bound_bytes, liu.peak);
  const auto impossible = make_plan(tree, witness, options(2, liu.peak - 1));
  ASSERT_FALSE(impossible);
  EXPECT_EQ(impossible.error().reason, Infeasible::Reason::kImpossible);
  EXPECT_EQ(impossible.error().least_bytes, postorder.peak);
  const auto plan = make_plan(tree, witness, options(2, std::nullopt));
  ASSERT_TRUE(plan);
  EXPECT_EQ(validate(*plan), Violations{});
  EXPECT_EQ(plan->memory_bound, postorder.peak);
  EXPECT_EQ(plan->witness, postorder.order);
  EXPECT_EQ(plan->least_bytes, liu.peak);
}

TEST(MakePlan, RefusesWitnessesThatProveNothing) {
  const auto tree = share(worked_example());
  Witness witness = given_witness(*tree, liu_traversal(*tree).order);
  --witness.peak;
  EXPECT_THROW((void)make_plan(tree, witness, options(2, std::nullopt)), InvalidInput);
  witness.order.pop_back();
  EXPECT_THROW((void)make_plan(tree, witness, options(2, std::nullopt)), InvalidInput);
  EXPECT_THROW((void)given_witness(*tree, {}), InvalidInput);
}

TEST(MakePlan, MakesValidPlansOnRandomTrees) {
  std::mt19937 random(23);
  for (int round = 0; round < 4000; ++round) {
    const auto tree = share(random_tree(random, 1 + random() % 25));
    PlanOptions choice = options(static_cast<std::int32_t>(1 + random() % 20), {});
    choice.order = random() % 2 == 0 ? OrderKind::kLiu : OrderKind::kPostorder;
    choice.mapping = static_cast<MappingKind>(random() % 3);
    if (random() % 2 == 0) choice.max_workers.assign(tree->size(), 2.5);
    const Bytes least = choice.order == OrderKind::kLiu ? liu_traversal(*tree).peak
                                                        : best_postorder(*tree).peak;
    if (random() % 2 == 0) choice.memory_bound = least + random() % 20;
    const auto plan = make_plan(tree, choice);
    ASSERT_TRUE(plan) << describe(*tree);
    ASSERT_EQ(validate(*plan), Violations{}) << describe(*tree);
    choice.memory_bound = least - 1;
    ASSERT_FALSE(make_plan(tree, choice)) << describe(*tree);
  }
}

TEST(MakePlan, NeedsTheWorkAloneOnOneWorker) {
  std::mt19937 random(24);
  for (int round = 0; round < 500; ++round) {
    const auto tree = share(random_tree(random, 1 + random() % 25));
    const auto plan = make_plan(tree, options(1, std::nullopt));
    ASSERT_TRUE(plan);
    ASSERT_DOUBLE_EQ(plan->makespan, plan->lower_bounds.work) << describe(*tree);
  }
}

TEST(MakePlan, AcceptsExtremes) {
  const auto empty = make_plan(share(TaskTree()), options(4, 0));
  ASSERT_TRUE(empty);
  EXPECT_EQ(validate(*empty), Violations{});
  const auto one = make_plan(
      share(TaskTree(std::vector<Task>{{std::nullopt, 3, 4, 5, 6}})), options(1024, 12));
  ASSERT_TRUE(one);
  EXPECT_EQ(validate(*one), Violations{});
  EXPECT_EQ(one->peak, 12);
  EXPECT_THROW((void)make_plan(share(TaskTree()), options(0, 0)), InvalidInput);
  const Bytes large = Bytes{1} << 61;
  const auto near_limit =
      make_plan(share(TaskTree(std::vector<Task>{{std::nullopt, 0, 0, 0, 1},
                                                 {task_id(0), 5, large, 0, 1},
                                                 {task_id(0), 6, large, 0, 1}})),
                options(2, std::nullopt));
  ASSERT_TRUE(near_limit);
  EXPECT_EQ(validate(*near_limit), Violations{});
  EXPECT_EQ(near_limit->least_bytes, large + 11);
  EXPECT_EQ(near_limit->makespan, 3);
}

TEST(MakePlan, PlansAChainAndAStarOfManyTasks) {
  for (const bool chain : {true, false}) {
    std::vector<Task> tasks(200'000, Task{std::nullopt, 2, 3, 1, 1});
    for (std::size_t i = 1; i < tasks.size(); ++i) {
      tasks[i].parent = task_id(chain ? i - 1 : 0);
    }
    const auto plan = make_plan(share(TaskTree(tasks)), options(1024, std::nullopt));
    ASSERT_TRUE(plan);
    EXPECT_EQ(validate(*plan), Violations{});
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier
