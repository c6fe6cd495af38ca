#include "espalier/parallel/validate_graph_plan.h"

#include <gtest/gtest.h>

#include <functional>

#include "espalier/model/graph_builder.h"
#include "support/expect_violation.h"

namespace espalier {
namespace TEST_SOURCE {

// x (3 bytes) is written by a and read by b, which writes y (1).
TaskGraph small_graph() {
  TaskGraphBuilder builder;
  const DatumId x = builder.add_datum("x", 3), y = builder.add_datum("y", 1);
  const TaskId a = builder.add_task("a", 0, 2), b = builder.add_task("b", 0, 4);
  builder.writes(a, x);
  builder.reads(b, x);
  builder.writes(b, y);
  return std::move(builder).build();
}

TEST(ValidateGraphPlan, TakesWhatThePlannerMakesUnderEachRule) {
  const TaskGraph graph = small_graph();
  const std::vector<TaskId> order = {TaskId{0}, TaskId{1}};
  for (const GraphRule rule : {GraphRule::kActivation, GraphRule::kBanker}) {
    const auto plan = plan_graph(graph, order, {2, std::nullopt, rule});
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->peak, 4);
    EXPECT_EQ(validate(graph, *plan), Violations{});
  }
}

TEST(ValidateGraphPlan, SaysWhatIsWrong) {
  const TaskGraph graph = small_graph();
  const std::vector<TaskId> order = {TaskId{0}, TaskId{1}};
  const GraphPlan right = *plan_graph(graph, order, {2, Bytes{9}});
  ASSERT_EQ(validate(graph, right), Violations{});
  const auto has = [&](const char* words, const std::function<void(GraphPlan&)>& spoil) {
    GraphPlan plan = right;
    spoil(plan);
    support::expect_first_violation(validate(graph, plan), words);
  };
  has("never reaches its peak 5", [](auto& plan) { plan.peak = 5; });
  has("3", [](auto& plan) { plan.peak = 3; });
  has("the run needs 4", [](auto& plan) { plan.memory_bound = 3; });
  has("the witness needs 10", [](auto& plan) { plan.witness_peak = 10; });
  has("ends at 6", [](auto& plan) { plan.makespan = 7; });
  has("no rule", [](auto& plan) { plan.rule = GraphRule::kShorter; });
  has("lower bound", [](auto& plan) { plan.lower_bounds.critical_path = 8; });
}

}  // namespace TEST_SOURCE
}  // namespace espalier
