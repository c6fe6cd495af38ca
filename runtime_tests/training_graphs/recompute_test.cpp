#include "espalier/training/recompute.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "espalier/model/operator_tasks.h"
#include "espalier/training/backbone.h"
#include "espalier/training/training_graph.h"
#include "espalier/training/transformer.h"
#include "support/model_builder.h"
#include "support/symbolic_run.h"

namespace espalier {
namespace TEST_SOURCE {

using support::ModelBuilder;
using Results = std::map<std::string, std::size_t>;

LayoutOptions quick() { return {.steps = 200'000}; }

// Layers of Gemm, BatchNormalization, Gelu and Dropout, every third with a way round it.
OperatorGraph layers(int count, std::int64_t batch = 64) {
  ModelBuilder model;
  const Shape shape = {batch, 16};
  TensorId x = model.input("x", shape);
  for (int i = 0; i < count; ++i) {
    const std::string at = std::to_string(i);
    TensorId y = model.op("Gemm", {x, model.weight("w" + at, {16, 16})}, shape);
    std::vector<TensorId> inputs = {y};
    for (const char* name : {"scale", "bias", "mean", "var"})
      inputs.push_back(model.weight(name + at, {16}));
    y = model.op("BatchNormalization", inputs, shape);
    y = model.op("Gelu", {y}, shape);
    y = model.op("Dropout", {y}, shape);
    x = i % 3 == 2 ? model.op("Add", {x, y}, shape) : y;
  }
  return model.build(x);
}

// What a step leaves when every tensor lies by itself and nothing is overwritten.
Results plain_results(const OperatorGraph& model, TrainingOptions options) {
  options.in_place = false;
  const TrainingGraph step = training_graph(model, options);
  const TaskGraph graph = task_graph_of(step.graph).graph;
  Arrangement plan;
  plan.order.order.assign(graph.topological_order().begin(),
                          graph.topological_order().end());
  plan.lifetimes = lifetimes(graph, plan.order.order);
  Bytes top = 0;
  for (const Buffer& buffer : plan.lifetimes.buffers.buffers()) {
    plan.layout.offsets.push_back(top);
    top += buffer.size;
  }
  return support::SymbolicRun(step.graph, plan).results();
}

TEST(Backbone, CutsWhereOneTensorPasses) {
  const TrainingGraph step = training_graph(support::perceptron(), {.in_place = false});
  const Backbone chain = backbone(step);
  ASSERT_EQ(chain.stages.size(), 4U);  // Gemm, Relu, Gemm, the loss
  EXPECT_EQ(chain.stages[1].input, step.graph.find_tensor("Gemm0/y"));
  EXPECT_EQ(chain.chain->stage(1).input, 2 * 16 * 4);
  EXPECT_EQ(chain.chain->stage(1).saved, 2 * 16 * 4);
  EXPECT_EQ(chain.stages[0].backward.size(), 3U);  // its gradient and two updates
  EXPECT_EQ(backbone(step, 2).stages.size(), 2U);
}

TEST(Backbone, HasEveryOperatorOnce) {
  const TrainingGraph step =
      training_graph(layers(7), {.updates = UpdateTime::kLast, .in_place = false});
  for (const std::size_t most : {2, 5, 64}) {
    const Backbone chain = backbone(step, most);
    EXPECT_LE(chain.stages.size(), most);
    std::size_t count = chain.last.size();
    for (const Backbone::Stage& stage : chain.stages)
      count += stage.forward.size() + stage.backward.size();
    EXPECT_EQ(count, step.graph.size());
  }
}

// In the arena, in place, in whatever order: the same symbols as plainly.
TEST(Arrange, ComputesWhatThePlainStepComputes) {
  const std::vector<OperatorGraph> models = {layers(4), support::perceptron(),
                                             transformer(transformer_shape("tiny"))};
  for (const OperatorGraph& model : models) {
    for (int bits = 0; bits < 24; ++bits) {
      const TrainingOptions options{.optimiser = static_cast<Optimiser>(bits % 3),
                                    .updates = static_cast<UpdateTime>(bits / 8),
                                    .alias_views = (bits & 1) != 0,
                                    .split_weight_gradients = (bits & 2) != 0,
                                    .accumulate_at_once = (bits & 4) != 0};
      const TrainingGraph step = training_graph(model, options);
      const Arrangement plan =
          arrange(task_graph_of(step.graph).graph, {.order = {}, .layout = quick()});
      EXPECT_EQ(support::SymbolicRun(step.graph, plan).results(),
                plain_results(model, options))
          << bits;
    }
  }
}

TEST(Recompute, NeedsLessAndComputesTheSame) {
  const std::vector<OperatorGraph> models = {
      layers(9), layers(14, 200),
      transformer(transformer_shape("layers=5,width=32,heads=2,sequence=64,"
                                    "vocabulary=16"))};
  for (const OperatorGraph& model : models) {
    const TrainingOptions options{.optimiser = Optimiser::kAdam};
    const TaskGraph graph = task_graph_of(training_graph(model, options).graph).graph;
    const Bytes without =
        arrange(graph, {.order = {}, .layout = quick()}).layout.capacity_bytes;
    const Results results = plain_results(model, options);
    const auto least = recompute(model, options, std::nullopt, {.layout = quick()});
    ASSERT_TRUE(least);
    const Bytes capacity = least->plan.layout.capacity_bytes;
    EXPECT_LT(capacity, without);
    EXPECT_GE(capacity, least->lower_bound_bytes);
    Flops before = least->recomputed_work;
    for (const Bytes bound : {capacity, (capacity + without) / 2, without - 1}) {
      const auto found = recompute(model, options, bound, {.layout = quick()});
      ASSERT_TRUE(found);
      EXPECT_LE(found->plan.layout.capacity_bytes, bound);
      EXPECT_EQ(validate(found->graph, found->plan), Violations{});
      EXPECT_EQ(support::SymbolicRun(found->step.graph, found->plan).results(), results);
      EXPECT_GT(found->recomputed_operators, 0U);
      EXPECT_LE(found->recomputed_work, before);  // more memory, less work
      EXPECT_LT(found->recomputed_work, 4 * found->work);
      before = found->recomputed_work;
    }
  }
}

TEST(Recompute, SaysTheLeastThatSuffices) {
  const OperatorGraph model = layers(9);
  const auto least = recompute(model, {}, std::nullopt, {.layout = quick()});
  ASSERT_TRUE(least);
  const auto none = recompute(model, {}, 1000, {.layout = quick()});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().least_bytes, least->plan.layout.capacity_bytes);
  EXPECT_EQ(none.error().reason, Infeasible::Reason::kImpossible);
  const auto below =
      recompute(model, {}, least->plan.layout.capacity_bytes - 1, {.layout = quick()});
  ASSERT_FALSE(below);
  EXPECT_EQ(below.error().bound_bytes, least->plan.layout.capacity_bytes - 1);
}

TEST(Recompute, UpdatesRunningStatisticsOnce) {
  const auto least = recompute(layers(9), {}, std::nullopt, {.layout = quick()});
  ASSERT_TRUE(least);
  std::map<std::string, int> updates;
  bool again = false;
  for (const Operator& op : least->step.graph.operators()) {
    if (op.type != "BatchNormalization") continue;
    updates[op.name.substr(0, op.name.find("/again"))] +=
        op.integer("updates_statistics", 1) != 0 ? 1 : 0;
    again = again || op.name.ends_with("/again");
  }
  EXPECT_TRUE(again);
  EXPECT_EQ(updates.size(), 9U);
  for (const auto& [name, count] : updates) EXPECT_EQ(count, 1) << name;
}

}  // namespace TEST_SOURCE
}  // namespace espalier
