// Steps of random models: what an arena holds is what the operators expect.

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "espalier/model/operator_tasks.h"
#include "espalier/training/recompute.h"
#include "support/exact_graph.h"
#include "support/random_graphs.h"
#include "support/random_model.h"
#include "support/symbolic_run.h"

namespace espalier {
namespace TEST_SOURCE {

using support::SymbolicRun;

// Every tensor by itself, in the order of the graph.
Arrangement apart(const TaskGraph& graph) {
  Arrangement plan;
  const auto order = graph.topological_order();
  plan.order.order.assign(order.begin(), order.end());
  plan.lifetimes = lifetimes(graph, plan.order.order);
  Bytes top = 0;
  for (const Buffer& buffer : plan.lifetimes.buffers.buffers()) {
    plan.layout.offsets.push_back(top);
    top += buffer.size;
  }
  return plan;
}

TrainingOptions drawn_options(int instance) {
  return {.optimiser = static_cast<Optimiser>(instance % 3),
          .updates = static_cast<UpdateTime>(instance / 3 % 3),
          .alias_views = instance % 5 != 0,
          .split_weight_gradients = instance % 2 == 0,
          .accumulate_at_once = instance % 7 == 0,
          .clip_gradients = instance % 11 == 0,
          .keep_gradients = instance % 13 == 0};
}

TEST(RandomSteps, ComputeTheSameInTheArena) {
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    const OperatorGraph model = support::random_model(random, 2 + i / 12);
    TrainingOptions options = drawn_options(i);
    const TrainingGraph step = training_graph(model, options);
    options.in_place = false;
    const TrainingGraph plain = training_graph(model, options);
    const TaskGraph graph = task_graph_of(step.graph).graph;
    const TaskGraph plain_graph = task_graph_of(plain.graph).graph;
    const auto expected = SymbolicRun(plain.graph, apart(plain_graph)).results();
    ArrangeLimits limits;
    limits.layout.steps = 20'000;
    limits.order.states = 20'000;
    const Arrangement plan = arrange(graph, limits);
    EXPECT_EQ(validate(graph, plan), Violations{}) << i;
    EXPECT_EQ(SymbolicRun(step.graph, plan).results(), expected) << i;
    // Any other order of the graph computes the same, too.
    const Arrangement other =
        arrange_in_order(graph, support::random_order(graph, random), {.steps = 0});
    EXPECT_EQ(SymbolicRun(step.graph, other).results(), expected) << i;
  }
}

TEST(RandomSteps, ComputeTheSameWithRecomputation) {
  std::mt19937 random(5);
  int again = 0;
  for (int i = 0; i < 60; ++i) {
    const OperatorGraph model = support::random_model(random, 4 + i / 4);
    TrainingOptions options = drawn_options(i);
    const auto found = recompute(model, options, std::nullopt, {.layout = {.steps = 0}});
    ASSERT_TRUE(found);
    EXPECT_EQ(validate(found->graph, found->plan), Violations{}) << i;
    options.in_place = false;
    const TrainingGraph plain = training_graph(model, options);
    const TaskGraph graph = task_graph_of(plain.graph).graph;
    EXPECT_EQ(SymbolicRun(found->step.graph, found->plan).results(),
              SymbolicRun(plain.graph, apart(graph)).results())
        << i;
    again += found->recomputed_operators > 0 ? 1 : 0;
  }
  EXPECT_GT(again, 10);
}

TEST(RandomSteps, AreTheLeastOfAllOrders) {
  std::mt19937 random(9);
  int small = 0;
  for (int i = 0; i < 200 && small < 40; ++i) {
    const TaskGraph graph =
        task_graph_of(training_graph(support::random_model(random, 1 + i % 4)).graph)
            .graph;
    if (graph.size() > 16) continue;
    ++small;
    const Arrangement plan = arrange(graph, {.order = {}, .layout = {.steps = 20'000}});
    EXPECT_EQ(plan.order.least_bytes, support::exact_peak(graph))
        << support::describe(graph);
    EXPECT_GE(plan.layout.capacity_bytes, plan.order.least_bytes);
  }
  EXPECT_GT(small, 10);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
