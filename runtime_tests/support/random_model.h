#pragma once

// Forward models drawn at random: products, sums, activations and views, with tensors
// that several operators read.

#include <random>
#include <string>
#include <vector>

#include "support/model_builder.h"

namespace espalier::support {

inline std::size_t draw_below(std::mt19937& random, std::size_t below) {
  return std::uniform_int_distribution<std::size_t>(0, below - 1)(random);
}

/// One of some kinds of operator, of square matrices, the i-th of its model.
/// @param pick  a tensor for it to read
template <class Pick>
TensorId random_operator(std::mt19937& random, ModelBuilder& model, int i,
                         const Shape& shape, const Pick& pick) {
  const std::vector<std::string> unary = {"Relu", "Tanh",     "Gelu", "Softmax",
                                          "Neg",  "Identity", "Exp",  "Dropout"};
  const std::vector<std::string> binary = {"Add", "Mul", "Sub", "Div", "Sum", "Max"};
  const auto draw = [&random](std::size_t below) { return draw_below(random, below); };
  const std::string at = std::to_string(i);
  switch (draw(5)) {
    case 0:
      return model.op("Gemm", {pick(), model.weight("w" + at, shape)}, shape);
    case 1:
      return model.op("MatMul", {pick(), pick()}, shape);
    case 2: {
      const TensorId y = model.op("Flatten", {pick()}, {1, shape[0] * shape[1]});
      return model.op("Reshape", {y, model.integers("s" + at, shape)}, shape);
    }
    case 3:
      return model.op(binary[draw(binary.size())], {pick(), pick()}, shape);
    default:
      return model.op(unary[draw(unary.size())], {pick()}, shape);
  }
}

inline OperatorGraph random_model(std::mt19937& random, int operators) {
  const auto draw = [&random](std::size_t below) { return draw_below(random, below); };
  ModelBuilder model;
  const Shape shape = {4, 4};
  std::vector<TensorId> square = {
      model.op("Gemm", {model.input("x", shape), model.weight("w", shape)}, shape)};
  std::vector<bool> read = {false};
  const auto pick = [&] {
    // Mostly one of the last few, so that there are chains, and ways round them.
    const std::size_t reach = draw(3) == 0 ? square.size() : 3;
    const std::size_t at = square.size() - 1 - draw(std::min(reach, square.size()));
    read[at] = true;
    return square[at];
  };
  for (int i = 0; i < operators; ++i) {
    square.push_back(random_operator(random, model, i, shape, pick));
    read.push_back(false);
  }
  // All that nobody has read goes into the loss.
  std::vector<TensorId> ends;
  for (std::size_t i = 0; i < square.size(); ++i) {
    if (!read[i]) ends.push_back(square[i]);
  }
  return model.build(model.op("Sum", ends, shape));
}

}  // namespace espalier::support
