#include "espalier/training/training_graph.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <string>
#include <utility>
#include <vector>

#include "espalier/model/error.h"
#include "espalier/model/operator_tasks.h"
#include "espalier/model/replay_graph.h"
#include "support/error_message.h"
#include "support/model_builder.h"

namespace espalier {
namespace TEST_SOURCE {

using support::ModelBuilder;
using support::perceptron;

std::vector<std::string> names(const OperatorGraph& graph) {
  std::vector<std::string> result;
  for (const Operator& op : graph.operators()) result.push_back(op.name);
  return result;
}

const Operator& named(const TrainingGraph& step, const std::string& name) {
  return step.graph.op(step.graph.find_operator(name).value());
}

std::string error_of(const OperatorGraph& model) {
  return support::error_message<InvalidInput>([&] { return training_graph(model); });
}

// x (2, 3, 4, 4), through operators of the types given, each of one input, to a Gemm.
OperatorGraph chain_of(const std::vector<std::string>& types) {
  ModelBuilder model;
  const Shape shape = {2, 3, 4, 4};
  TensorId x =
      model.op("Conv", {model.input("x", shape), model.weight("w", {3, 3, 1, 1})}, shape);
  for (const std::string& type : types) {
    std::vector<TensorId> inputs = {x};
    if (type == "BatchNormalization") {
      for (const char* name : {"scale", "bias", "mean", "var"})
        inputs.push_back(model.weight(type + name, {3}));
    }
    x = model.op(type, inputs, shape);
  }
  x = model.op("Flatten", {x}, {2, 48});
  return model.build(model.op("Gemm", {x, model.weight("v", {48, 5})}, {2, 5}));
}

TEST(TrainingGraph, RunsForwardLossBackwardAndUpdates) {
  const TrainingGraph step = training_graph(perceptron());
  EXPECT_EQ(names(step.graph),
            (std::vector<std::string>{
                "Gemm0", "Relu1", "Gemm2", "loss", "loss/grad", "Gemm2/grad", "w1/update",
                "b1/update", "Relu1/grad", "Gemm0/grad", "w0/update", "b0/update"}));
  EXPECT_EQ(step.parameters, 8 * 16 + 16 + 16 * 4 + 4);
  EXPECT_EQ(step.parameter_bytes, 4 * step.parameters);
  const Operator& grad = named(step, "Gemm2/grad");
  EXPECT_EQ(grad.type, "GemmGrad");
  EXPECT_EQ(grad.inputs.size(), 3U);   // its gradient, x, w
  EXPECT_EQ(grad.outputs.size(), 3U);  // dx, dw, db
  EXPECT_EQ(grad.integer("inputs", 0), 3);
  const Operator& first = named(step, "Gemm0/grad");
  EXPECT_FALSE(first.outputs[0]);  // nobody wants the gradient of the data
  EXPECT_EQ(first.inputs.size(), 2U);
  EXPECT_EQ(step.undoes[index(*step.graph.find_operator("Gemm0/grad"))], operator_id(0));
}

// By hand: 848 bytes of parameters, x 64, Relu's gradient 128 in place, dw 512, db 64 and
// the loss 4 while the first Gemm is undone.
TEST(TrainingGraph, NeedsWhatIsCountedByHand) {
  const TaskGraph graph = task_graph_of(training_graph(perceptron()).graph).graph;
  EXPECT_EQ(replay(graph, graph.topological_order()).peak, 848 + 64 + 128 + 512 + 64 + 4);
}

TEST(TrainingGraph, KeepsTheStateOfTheOptimiser) {
  for (const auto& [optimiser, states] :
       {std::pair(Optimiser::kSgd, 0), std::pair(Optimiser::kMomentum, 1),
        std::pair(Optimiser::kAdam, 2)}) {
    const TrainingGraph step = training_graph(perceptron(), {.optimiser = optimiser});
    EXPECT_EQ(step.state_bytes, states * step.parameter_bytes);
    const TaskGraph graph = task_graph_of(step.graph).graph;
    // Also x and the labels are there from the start.
    EXPECT_EQ(graph.initial_bytes(), (1 + states) * step.parameter_bytes + 64 + 16);
  }
}

TEST(TrainingGraph, HoldsAllGradientsAtOnceWhenUpdatesComeLast) {
  const auto peak = [](UpdateTime updates) {
    const TrainingGraph step =
        training_graph(perceptron(), {.optimiser = Optimiser::kAdam, .updates = updates});
    const TaskGraph graph = task_graph_of(step.graph).graph;
    return replay(graph, graph.topological_order()).peak;
  };
  EXPECT_EQ(peak(UpdateTime::kLast) - peak(UpdateTime::kFree), 256 + 16);  // dw1, db1
  EXPECT_EQ(peak(UpdateTime::kImmediate), peak(UpdateTime::kFree));
}

TEST(TrainingGraph, ReadsOnTheWayBackWhatTheTableSays) {
  const TrainingGraph step =
      training_graph(chain_of({"BatchNormalization", "Relu", "MaxPool", "Dropout"}));
  const Operator& norm = named(step, "BatchNormalization1/grad");
  EXPECT_EQ(norm.inputs.size(), 9U);  // g, x, scale, -, -, -, -, mean, deviation
  EXPECT_TRUE(norm.inputs[2]);
  EXPECT_FALSE(norm.inputs[3] || norm.inputs[6]);
  EXPECT_EQ(step.graph.tensor(*norm.inputs[7]).shape, (Shape{3}));
  EXPECT_EQ(norm.outputs.size(), 3U);
  const Operator& relu = named(step, "Relu2/grad");
  EXPECT_EQ(relu.inputs.size(), 3U);
  EXPECT_FALSE(relu.inputs[1]);
  EXPECT_EQ(relu.inputs[2], named(step, "Relu2").outputs[0]);
  EXPECT_EQ(step.graph.tensor(*named(step, "MaxPool3").outputs[1]).type,
            ElementType::kInt64);
  EXPECT_EQ(step.graph.tensor(*named(step, "Dropout4").outputs[1]).bytes, 96);
  EXPECT_FALSE(named(step, "Dropout4/grad").inputs[1]);
  // Running statistics are not trained.
  EXPECT_EQ(step.parameters, 9 + 3 + 3 + 48 * 5);
}

TEST(TrainingGraph, SplitsGradientsOfWeights) {
  const TrainingGraph step =
      training_graph(perceptron(), {.split_weight_gradients = true});
  const Operator& data = named(step, "Gemm2/grad");
  EXPECT_EQ(data.outputs.size(), 1U);
  EXPECT_FALSE(data.inputs[1]);
  const Operator& weights = step.graph.op(operator_id(6));
  EXPECT_EQ(weights.type, "GemmGrad");
  EXPECT_FALSE(weights.outputs[0]);
  EXPECT_EQ(weights.inputs.size(), 2U);
}

// y = a + b, a = Relu(x), b = Relu(a): a has two readers, and two partial gradients.
TEST(TrainingGraph, AddsUpTheGradientsOfSeveralReaders) {
  ModelBuilder model;
  const TensorId x =
      model.op("Gemm", {model.input("x", {2, 4}), model.weight("w", {4, 4})}, {2, 4});
  const TensorId a = model.op("Tanh", {x}, {2, 4});
  const TensorId b = model.op("Tanh", {a}, {2, 4});
  const TrainingGraph step = training_graph(model.build(model.op("Add", {a, b}, {2, 4})));
  std::size_t sums = 0;
  for (const Operator& op : step.graph.operators()) {
    EXPECT_NE(op.type, "AddGrad");  // it is the gradient that comes in
    if (op.type == "Accumulate") ++sums;
  }
  EXPECT_EQ(sums, 1U);
  const TrainingGraph copies = training_graph(
      [&] {
        ModelBuilder again;
        const TensorId y = again.op(
            "Gemm", {again.input("x", {2, 4}), again.weight("w", {4, 4})}, {2, 4});
        return again.build(again.op("Add", {y, y}, {2, 4}));
      }(),
      {.alias_views = false});
  EXPECT_TRUE(copies.graph.find_operator("Add1/grad"));
}

TEST(TrainingGraph, TakesTheLossInPlaceOfTheLastSoftmax) {
  ModelBuilder model;
  const TensorId x =
      model.op("Gemm", {model.input("x", {2, 4}), model.weight("w", {4, 6})}, {2, 6});
  const TrainingGraph step =
      training_graph(model.build(model.op("Softmax", {x}, {2, 6})));
  EXPECT_FALSE(step.graph.find_operator("Softmax1"));
  const Operator& loss = named(step, "loss");
  EXPECT_EQ(loss.type, "SoftmaxCrossEntropyLoss");
  EXPECT_EQ(step.graph.tensor(step.labels[0]).shape, (Shape{2}));
  const Operator& grad = named(step, "loss/grad");
  EXPECT_EQ(step.graph.storage(*grad.outputs[0]), *loss.outputs[1]);
}

TEST(TrainingGraph, TakesTheLossOfTheFirstOutputThatIsDeclared) {
  ModelBuilder model;
  const TensorId x =
      model.op("MatMul", {model.input("x", {2, 8}), model.weight("w", {8, 4})}, {2, 4});
  const TensorId y = model.op("MatMul", {x, model.weight("v", {4, 3})}, {2, 3});
  const TrainingGraph step = training_graph(model.build({y, x}));
  EXPECT_EQ(named(step, "loss").input(0), step.graph.find_tensor("MatMul1/y"));
}

TEST(TrainingGraph, TakesTheMeanOfSquaresOfOneValueASample) {
  ModelBuilder model;
  const TensorId y =
      model.op("MatMul", {model.input("x", {2, 8}), model.weight("w", {8, 1})}, {2, 1});
  const TrainingGraph step = training_graph(model.build(y));
  EXPECT_EQ(named(step, "loss").type, "MeanSquareLoss");
  EXPECT_EQ(step.graph.tensor(step.labels.at(0)).shape, (Shape{2, 1}));
}

TEST(TrainingGraph, TrainsNoPartOfTheComputation) {
  ModelBuilder model;
  const TensorId x =
      model.op("MatMul", {model.input("x", {2, 8}), model.weight("w", {8, 4})}, {2, 4});
  const TensorId y = model.op("Mul", {x, model.literal("c", {4})}, {2, 4});
  EXPECT_EQ(training_graph(model.build(y)).parameters, 8 * 4);
}

TEST(TrainingGraph, ClipsAndKeepsGradients) {
  const TrainingGraph step =
      training_graph(perceptron(), {.clip_gradients = true, .keep_gradients = true});
  EXPECT_EQ(named(step, "gradients").type, "GlobalNorm");
  EXPECT_EQ(named(step, "gradients").inputs.size(), 4U);
  EXPECT_EQ(named(step, "w0/update").inputs.size(), 3U);
  EXPECT_EQ(step.state_bytes, step.parameter_bytes);
  EXPECT_NO_THROW((void)task_graph_of(step.graph));
}

TEST(TrainingGraph, IsAnOrderWhateverTheOptions) {
  const OperatorGraph model =
      chain_of({"BatchNormalization", "Relu", "LRN", "Identity", "Neg", "MaxPool"});
  for (int bits = 0; bits < 128; ++bits) {
    const TrainingOptions options{.optimiser = Optimiser::kMomentum,
                                  .updates = static_cast<UpdateTime>(bits % 3),
                                  .fused_updates = (bits & 1) != 0,
                                  .alias_views = (bits & 2) != 0,
                                  .in_place = (bits & 4) != 0,
                                  .split_weight_gradients = (bits & 8) != 0,
                                  .accumulate_at_once = (bits & 16) != 0,
                                  .pool_keeps_inputs = (bits & 32) != 0,
                                  .lrn_keeps_scale = (bits & 64) != 0};
    const TrainingGraph step = training_graph(model, options);
    const TaskGraph graph = task_graph_of(step.graph).graph;
    EXPECT_TRUE(std::ranges::is_sorted(graph.topological_order())) << bits;
    EXPECT_EQ(step.phase.size(), step.graph.size());
    EXPECT_EQ(step.undoes.size(), step.graph.size());
  }
}

TEST(TrainingGraph, HasGradientsOfManyInputs) {
  for (const int inputs : {40, 65}) {
    ModelBuilder model;
    const TensorId x = model.input("x", {2, 4});
    std::vector<TensorId> parts;
    for (int i = 0; i < inputs; ++i)
      parts.push_back(
          model.op("Gemm", {x, model.weight("w" + std::to_string(i), {4, 1})}, {2, 1}));
    const OperatorGraph graph = model.build(model.op("Concat", parts, {2, inputs}));
    if (inputs > 64) {
      EXPECT_NE(error_of(graph).find("'Concat65'"), std::string::npos);
      continue;
    }
    const TrainingGraph step = training_graph(graph);
    EXPECT_EQ(step.parameters, 4 * inputs);
    EXPECT_EQ(named(step, "Concat40/grad").outputs.size(), 40U);
  }
}

TEST(TrainingGraph, NamesWhatCannotBeTrained) {
  ModelBuilder one_class;
  const TensorId score = one_class.op(
      "MatMul", {one_class.input("x", {2, 8}), one_class.weight("w", {8, 1})}, {2, 1});
  EXPECT_NE(error_of(one_class.build(one_class.op("Softmax", {score}, {2, 1})))
                .find("'Softmax1' (Softmax): of tensor 'MatMul0/y' (2x1) it makes one"),
            std::string::npos);
  EXPECT_EQ(error_of(chain_of({"Quux"})),
            "operator 'Quux1' (Quux): its gradient is not known, and tensor 'Conv0/y' "
            "(2x3x4x4) needs it");
  OperatorGraphBuilder backwards;
  const TensorId a = backwards.add_tensor({.name = "a", .shape = {2, 2}});
  const TensorId b = backwards.add_tensor({.name = "b", .shape = {2, 2}, .kept = true});
  (void)backwards.add_operator({.type = "Relu", .inputs = {a}, .outputs = {b}});
  (void)backwards.add_operator({.type = "Relu", .inputs = {b}, .outputs = {a}});
  EXPECT_EQ(
      error_of(std::move(backwards).build()),
      "operator 'Relu_0' (Relu) reads tensor 'a' (2x2), which operator 'Relu_1' "
      "(Relu) behind it writes: the graph has a cycle, or its operators stand in no "
      "order");
  ModelBuilder model;
  const TensorId y = model.op("Relu", {model.input("x", {2, 2})}, {2, 2});
  EXPECT_EQ(error_of(model.build(y)),
            "nothing can be trained: tensor 'Relu0/y' (2x2) depends on no parameter "
            "(initializers of floating point are, nodes of type Constant are not)");
}

}  // namespace TEST_SOURCE
}  // namespace espalier
