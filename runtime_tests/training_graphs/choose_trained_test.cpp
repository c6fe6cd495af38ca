#include "espalier/training/choose_trained.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "espalier/model/error.h"
#include "espalier/training/fold_constants.h"
#include "espalier/training/training_graph.h"
#include "support/error_message.h"
#include "support/model_builder.h"

namespace espalier {
namespace TEST_SOURCE {

using support::ModelBuilder;
using Names = std::vector<std::string>;

// (x w gain) to an exponent, and clipped.
OperatorGraph scaled_product() {
  ModelBuilder model;
  TensorId y =
      model.op("MatMul", {model.input("x", {2, 8}), model.weight("w", {8, 4})}, {2, 4});
  y = model.op("Mul", {y, model.weight("gain", {})}, {2, 4});
  y = model.op("Pow", {y, model.weight("exponent", {1})}, {2, 4});
  return model.build(model.op("Clip", {y, model.weight("low", {})}, {2, 4}));
}

std::int64_t parameters(const Names& trained, const Names& frozen) {
  return training_graph(fold_constants(choose_trained(scaled_product(), trained, frozen)))
      .parameters;
}

std::string refusal(const Names& trained, const Names& frozen) {
  return support::error_message<InvalidInput>([&] { (void)parameters(trained, frozen); });
}

TEST(ChooseTrained, ScalarsThatAreNamedAndNothingThatIsFrozen) {
  EXPECT_EQ(parameters({}, {}), 32);
  EXPECT_EQ(parameters({"gain"}, {}), 33);
  EXPECT_EQ(parameters({"gain"}, {"w"}), 1);
}

// A scalar that is seen with an axis is one still.
TEST(ChooseTrained, ScalarsStayScalarsInAnotherShape) {
  for (const bool trained : {false, true}) {
    ModelBuilder model;
    const TensorId x =
        model.op("MatMul", {model.input("x", {2, 8}), model.weight("w", {8, 4})}, {2, 4});
    const TensorId gain = model.op(
        "Reshape", {model.weight("gain", {}), model.integers("shape", {1})}, {1});
    const OperatorGraph graph = model.build(model.op("Mul", {x, gain}, {2, 4}));
    const Names names = trained ? Names{"gain"} : Names{};
    EXPECT_EQ(training_graph(fold_constants(choose_trained(graph, names, {}))).parameters,
              trained ? 33 : 32);
  }
}

TEST(ChooseTrained, NamesThatAreNoParametersAreRefused) {
  EXPECT_EQ(refusal({"exponent"}, {}),
            "tensor 'exponent' (1) cannot be trained: operator 'Pow2' (Pow) has no "
            "gradient for it");
  EXPECT_EQ(refusal({"gains"}, {}), "the model has no tensor 'gains'");
  EXPECT_NE(refusal({}, {"x"}).find("is no constant of floating point"),
            std::string::npos);
  EXPECT_EQ(refusal({"gain"}, {"gain"}), "'gain' is both trained and frozen");
}

TEST(ChooseTrained, WhatIsLeftAloneIsKnown) {
  const auto left = [](const Names& trained, const Names& frozen) {
    const OperatorGraph model =
        fold_constants(choose_trained(scaled_product(), trained, frozen));
    Names names;
    for (const TensorId id : left_alone(model)) names.push_back(model.tensor(id).name);
    return names;
  };
  EXPECT_EQ(left({}, {}), (Names{"gain", "exponent"}));
  EXPECT_EQ(left({"gain"}, {"exponent"}), Names{});
}

}  // namespace TEST_SOURCE
}  // namespace espalier
