// The backward operators of the oracle against central differences of its forward ones.

#include <gtest/gtest.h>

#include <cmath>

#include "training/operators/oracle.h"

namespace espalier::training {
namespace TEST_SOURCE {

double dot(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

double central_difference(const OperatorCase& test, std::vector<Values> inputs,
                          std::size_t input, std::size_t element, const Values& weights) {
  constexpr double kStep = 1e-5;
  const double middle = inputs[input][element];
  inputs[input][element] = middle + kStep;
  const double above =
      dot(weights, run_oracle(test.spec, test.inputs, test.outputs, inputs)[0]);
  inputs[input][element] = middle - kStep;
  const double below =
      dot(weights, run_oracle(test.spec, test.inputs, test.outputs, inputs)[0]);
  return (above - below) / (2 * kStep);
}

TEST(OperatorGradients, AreThoseOfCentralDifferences) {
  std::mt19937_64 random(11);
  for (const OperatorCase& test : operator_cases()) {
    const auto inputs = random_inputs(test, random);
    const auto outputs = run_oracle(test.spec, test.inputs, test.outputs, inputs);
    const Values gradient = random_values(test.outputs[0], -1, 1, random);
    for (const BackwardCase& backward : test.backward) {
      const BackwardRun run = backward_run(test, backward, inputs, outputs, gradient);
      const auto found = run_oracle(backward.spec, run.inputs, run.outputs, run.values);
      for (std::size_t w = 0; w < backward.writes.size(); ++w) {
        std::uniform_int_distribution<std::size_t> any(0, found[w].size() - 1);
        for (int sample = 0; sample < 4; ++sample) {
          const std::size_t element = any(random);
          const double expected =
              central_difference(test, inputs, backward.writes[w], element, gradient);
          EXPECT_NEAR(found[w][element], expected, 1e-7 * (1 + std::abs(expected)))
              << test.name << ", gradient of input " << backward.writes[w] << ", element "
              << element;
        }
      }
    }
  }
}

TEST(OperatorGradients, OfLossesAreThoseOfCentralDifferences) {
  std::mt19937_64 random(5);
  const TensorShape x{ElementType::kFloat32, {6, 5}}, one{};
  const TensorShape labels{ElementType::kInt64, {6}};
  for (const bool classes : {true, false}) {
    const OperatorSpec loss{.kind = classes ? OperatorKind::kCrossEntropy
                                            : OperatorKind::kMeanSquare};
    const std::vector<TensorShape> inputs = {x, classes ? labels : x};
    std::vector<TensorShape> outputs = {one};
    if (classes) outputs.push_back(x);
    // A label of -1 leaves a row out.
    const std::vector<Values> values = {
        random_values(x, 0.1, 1, random),
        classes ? Values{4, 0, -1, 2, 2, 1} : random_values(x, -1, 1, random)};
    const auto found = run_oracle(loss, inputs, outputs, values);
    const auto gradient =
        run_oracle({.kind = classes ? OperatorKind::kCrossEntropyBackward
                                    : OperatorKind::kMeanSquareBackward},
                   inputs, {x}, {classes ? found[1] : values[0], values[1]})[0];
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      auto moved = values;
      moved[0][i] += 1e-5;
      const double above = run_oracle(loss, inputs, outputs, moved)[0][0];
      moved[0][i] -= 2e-5;
      const double below = run_oracle(loss, inputs, outputs, moved)[0][0];
      EXPECT_NEAR(gradient[i], (above - below) / 2e-5, 1e-8) << classes << " " << i;
    }
  }
}

// Towards zero, inside the new type; NaN is 0. Truth values are 0 and 1.
TEST(Cast, TakesElementsIntoAnotherType) {
  const TensorShape real{.type = ElementType::kFloat64, .dims = {6}};
  const auto cast = [&](ElementType type, bool truth) {
    return run_oracle({.kind = OperatorKind::kCast, .truth = truth}, {real},
                      {{.type = type, .dims = {6}}},
                      {{-1.9, 1.9, 0, 0.2, 3e20, std::nan("")}})[0];
  };
  EXPECT_EQ(cast(ElementType::kInt32, false), (Values{-1, 1, 0, 0, 2147483647, 0}));
  EXPECT_EQ(cast(ElementType::kUint8, false), (Values{0, 1, 0, 0, 255, 0}));
  EXPECT_EQ(cast(ElementType::kUint8, true), (Values{1, 1, 0, 1, 1, 1}));
}

}  // namespace TEST_SOURCE
}  // namespace espalier::training
