#include "espalier/training/fold_constants.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/model_builder.h"

namespace espalier {
namespace TEST_SOURCE {

using support::ModelBuilder;
constexpr auto kInt64 = ElementType::kInt64;

TEST(FoldConstants, TakesWeightsThatAreComputedFromShapes) {
  ModelBuilder model;
  const TensorId x = model.input("x", {2, 3});
  const ConstantTensor half{ElementType::kFloat32, {1}, TensorValue::repeated("half")};
  const TensorId filled =
      model.op("ConstantOfShape", {model.integers("shape", {3})}, {3}, {{"value", half}});
  const TensorId row =
      model.op("Unsqueeze", {filled}, {1, 3}, {{"axes", std::vector<std::int64_t>{0}}});
  const OperatorGraph graph =
      fold_constants(model.build(model.op("Mul", {x, row}, {2, 3})));
  ASSERT_EQ(graph.size(), 1U);
  EXPECT_EQ(graph.op(operator_id(0)).type, "Mul");
  EXPECT_FALSE(graph.find_tensor("shape"));
  const Tensor& weight = graph.tensor(*graph.op(operator_id(0)).inputs[1]);
  EXPECT_EQ(weight.role, TensorRole::kConstant);
  EXPECT_EQ(weight.shape, (Shape{1, 3}));
  EXPECT_EQ(*weight.value->repeated_element(), "half");
}

// Reshape to (batch, -1) as exporters write it: Shape, Gather, Unsqueeze, Concat.
TEST(FoldConstants, ComputesShapes) {
  ModelBuilder model;
  const TensorId x = model.input("x", {5, 2, 3});
  const TensorId shape = model.op("Shape", {x}, {3}, {}, kInt64);
  const TensorId batch =
      model.op("Gather", {shape, model.integers("zero", {0})}, {1}, {}, kInt64);
  const TensorId twice =
      model.op("Add", {batch, model.integers("two", {2})}, {1}, {}, kInt64);
  const TensorId target =
      model.op("Concat", {twice, model.integers("rest", {-1})}, {2}, {}, kInt64);
  const OperatorGraph graph =
      fold_constants(model.build(model.op("Reshape", {x, target}, {5, 6})));
  ASSERT_EQ(graph.size(), 1U);
  const Tensor& folded = graph.tensor(*graph.op(operator_id(0)).inputs[1]);
  EXPECT_EQ(integers_of(folded.value.value(), folded.type, folded.shape),
            (std::vector<std::int64_t>{7, -1}));
}

// Weights with other readers stay one with what they are seen as.
TEST(FoldConstants, LeavesViewsOfWhatIsTrainedElsewhere) {
  for (const bool shared : {false, true}) {
    ModelBuilder model;
    TensorId x = model.input("x", {2, 4});
    const TensorId weight = model.weight("w", {4, 4});
    const TensorId seen = model.op("Identity", {weight}, {4, 4});
    x = model.op("MatMul", {x, seen}, {2, 4});
    if (shared) x = model.op("MatMul", {x, weight}, {2, 4});
    EXPECT_EQ(fold_constants(model.build(x)).size(), shared ? 3U : 1U);
  }
}

TEST(FoldConstants, LeavesWeightsThatAreExpanded) {
  ModelBuilder model;
  const TensorId x = model.input("x", {2, 4});
  const TensorId wide =
      model.op("Expand", {model.weight("w", {1}), model.integers("s", {4})}, {4});
  EXPECT_EQ(fold_constants(model.build(model.op("Mul", {x, wide}, {2, 4}))).size(), 2U);
}

// What is filled from a shape in the model is a weight, what from a tensor's is not.
TEST(FoldConstants, TellsWhatIsPartOfTheComputation) {
  for (const bool from_tensor : {false, true}) {
    ModelBuilder model;
    const TensorId x = model.input("x", {2, 4});
    const TensorId shape = from_tensor ? model.op("Shape", {x}, {2}, {}, kInt64)
                                       : model.integers("shape", {2, 4});
    const TensorId filled = model.op("ConstantOfShape", {shape}, {2, 4});
    const OperatorGraph graph =
        fold_constants(model.build(model.op("Add", {x, filled}, {2, 4})));
    const Tensor& tensor = graph.tensor(*graph.op(operator_id(0)).inputs[1]);
    EXPECT_EQ(tensor.trained, from_tensor ? Trained::kNever : Trained::kByRule);
  }
}

TEST(FoldConstants, LeavesWhatDependsOnInputs) {
  const OperatorGraph graph = support::perceptron();
  EXPECT_EQ(fold_constants(graph).size(), graph.size());
}

}  // namespace TEST_SOURCE
}  // namespace espalier
