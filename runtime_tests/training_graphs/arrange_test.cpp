#include "espalier/training/arrange.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "espalier/model/graph_builder.h"
#include "espalier/model/operator_tasks.h"
#include "espalier/model/replay_graph.h"
#include "espalier/training/shift_order.h"
#include "espalier/training/training_graph.h"
#include "espalier/training/transformer.h"
#include "support/exact_graph.h"
#include "support/model_builder.h"
#include "support/random_graphs.h"

namespace espalier {
namespace TEST_SOURCE {

ArrangeLimits quick() {
  ArrangeLimits limits;
  limits.layout.steps = 200'000;
  return limits;
}

TaskGraph tasks_of(const OperatorGraph& model, const TrainingOptions& options = {}) {
  return task_graph_of(training_graph(model, options).graph).graph;
}

TEST(Lifetimes, LoadAtThePeakOfTheOrder) {
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    const TaskGraph graph = support::varied_graph(random, i, 12);
    if (graph.empty()) continue;
    const auto order = support::random_order(graph, random);
    const Arrangement plan = arrange_in_order(graph, order, {.steps = 0});
    EXPECT_EQ(plan.layout.load_bytes, replay(graph, order).peak)
        << support::describe(graph);
    EXPECT_EQ(validate(graph, plan), Violations{}) << support::describe(graph);
  }
}

TEST(Arrange, IsTheLeastOfSmallTrainingSteps) {
  for (const std::int64_t batch : {1, 5, 40}) {
    for (const bool in_place : {false, true}) {
      const TaskGraph graph =
          tasks_of(support::perceptron(batch), {.in_place = in_place});
      const Arrangement plan = arrange(graph, quick());
      EXPECT_EQ(plan.order.least_bytes, support::exact_peak(graph));
      EXPECT_EQ(validate(graph, plan), Violations{});
      EXPECT_TRUE(plan.proved());
      EXPECT_EQ(plan.fragmentation(), 0.0);
    }
  }
}

TEST(Arrange, FitsRandomGraphsInWhatItSays) {
  std::mt19937 random(11);
  for (int i = 0; i < 150; ++i) {
    const TaskGraph graph = support::varied_graph(random, i, 12);
    if (graph.empty()) continue;
    const Arrangement plan = arrange(graph, quick());
    EXPECT_EQ(validate(graph, plan), Violations{}) << support::describe(graph);
    EXPECT_GE(plan.layout.capacity_bytes, plan.order.least_bytes);
  }
}

// a writes y (2) early, b writes z (1), c reads both; y lies on top of z.
TEST(ShiftOrder, ProducesLaterWhatLiesAtTheTop) {
  for (const Bytes workspace : {0, 5}) {
    TaskGraphBuilder builder;
    const DatumId y = builder.add_datum("y", 2), z = builder.add_datum("z", 1);
    const TaskId a = builder.add_task("a", workspace), b = builder.add_task("b"),
                 c = builder.add_task("c");
    builder.writes(a, y);
    builder.writes(b, z);
    builder.reads(c, y);
    builder.reads(c, z);
    const TaskGraph graph = std::move(builder).build();
    const std::vector<TaskId> order = {a, b, c};
    const Lifetimes alive = lifetimes(graph, order);
    Layout layout{.offsets = {1, 0, 1}, .capacity_bytes = 3};
    layout.offsets.resize(alive.buffers.size());
    const auto shifted = shift_order(graph, order, alive, layout);
    // With a workspace a would need more beside z than it did alone.
    EXPECT_EQ(shifted.has_value(), workspace == 0);
    if (shifted) {
      EXPECT_EQ(*shifted, (std::vector{b, a, c}));
    }
  }
}

// Whatever it says: an order of no higher peak.
TEST(ShiftOrder, KeepsOrdersAndPeaks) {
  std::mt19937 random(17);
  int shifts = 0;
  for (int i = 0; i < 300; ++i) {
    const TaskGraph graph = support::varied_graph(random, i, 20);
    if (graph.empty()) continue;
    const auto order = support::random_order(graph, random);
    const Arrangement plan = arrange_in_order(graph, order, {.steps = 0});
    const auto shifted = shift_order(graph, order, plan.lifetimes, plan.layout);
    if (!shifted) continue;
    ++shifts;
    EXPECT_NE(*shifted, order);
    EXPECT_LE(replay(graph, *shifted).peak, plan.order.least_bytes)
        << support::describe(graph);
  }
  EXPECT_GT(shifts, 30);
}

TEST(Arrange, ProvesASmallTransformer) {
  const TaskGraph graph =
      tasks_of(transformer(transformer_shape("tiny")), {.optimiser = Optimiser::kAdam});
  const Arrangement plan = arrange(graph, quick());
  EXPECT_EQ(validate(graph, plan), Violations{});
  EXPECT_TRUE(plan.proved()) << plan.layout.capacity_bytes << " of "
                             << plan.lower_bound_bytes();
}

TEST(ValidateArrangement, SeesWhatIsWrong) {
  const TaskGraph graph = tasks_of(support::perceptron());
  const Arrangement good = arrange(graph, quick());
  ASSERT_EQ(validate(graph, good), Violations{});
  Arrangement bad = good;
  bad.layout.offsets[0] = bad.layout.offsets[1];
  EXPECT_NE(validate(graph, bad), Violations{});
  bad = good;
  bad.layout.capacity_bytes += 1;
  EXPECT_NE(validate(graph, bad), Violations{});
  bad = good;
  std::swap(bad.order.order.front(), bad.order.order.back());
  EXPECT_NE(validate(graph, bad), Violations{});
  bad = good;
  bad.order.least_bytes -= 4;
  EXPECT_NE(validate(graph, bad), Violations{});
  bad = good;
  bad.lifetimes.of_datum[0].reset();
  EXPECT_NE(validate(graph, bad), Violations{});
}

}  // namespace TEST_SOURCE
}  // namespace espalier
