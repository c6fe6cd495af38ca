#pragma once

// Forward models drawn at random: products, sums, activations and views, with tensors
// that several operators read.

#include <random>
#include <string>
#include <vector>

#include "support/model_builder.h"

namespace espalier::support {

inline OperatorGraph random_model(std::mt19937& random, int operators) {
  const std::vector<std::string> unary = {"Relu", "Tanh",     "Gelu", "Softmax",
                                          "Neg",  "Identity", "Exp",  "Dropout"};
  const std::vector<std::string> binary = {"Add", "Mul", "Sub", "Div", "Sum", "Max"};
  const auto draw = [&random](std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random);
  };
  ModelBuilder model;
  const std::int64_t side = 4;
  const Shape shape = {side, side};
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
    const std::string at = std::to_string(i);
    TensorId y{};
    switch (draw(5)) {
      case 0:
        y = model.op("Gemm", {pick(), model.weight("w" + at, shape)}, shape);
        break;
      case 1:
        y = model.op("MatMul", {pick(), pick()}, shape);
        break;
      case 2:
        y = model.op("Flatten", {pick()}, {1, side * side});
        y = model.op("Reshape", {y, model.integers("s" + at, shape)}, shape);
        break;
      case 3:
        y = model.op(binary[draw(binary.size())], {pick(), pick()}, shape);
        break;
      default:
        y = model.op(unary[draw(unary.size())], {pick()}, shape);
    }
    square.push_back(y);
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
