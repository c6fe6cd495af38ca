#include "espalier/sharding/operator_units.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

namespace espalier {
namespace {

// What computes each element of its result from the same element, channel or sample.
constexpr std::array<std::string_view, 38> kPointwise = {"Abs",
                                                         "Add",
                                                         "AveragePool",
                                                         "BatchNormalization",
                                                         "Cast",
                                                         "Clip",
                                                         "Div",
                                                         "Dropout",
                                                         "Elu",
                                                         "Erf",
                                                         "Exp",
                                                         "Gelu",
                                                         "HardSigmoid",
                                                         "HardSwish",
                                                         "GlobalAveragePool",
                                                         "GlobalMaxPool",
                                                         "Identity",
                                                         "LeakyRelu",
                                                         "Log",
                                                         "Max",
                                                         "MaxPool",
                                                         "Mean",
                                                         "Min",
                                                         "Mul",
                                                         "Neg",
                                                         "PRelu",
                                                         "Pow",
                                                         "Reciprocal",
                                                         "Relu",
                                                         "Selu",
                                                         "Sigmoid",
                                                         "Softplus",
                                                         "Softsign",
                                                         "Sqrt",
                                                         "Sub",
                                                         "Sum",
                                                         "Tanh",
                                                         "Where"};
constexpr std::array<std::string_view, 5> kViews = {"Flatten", "Identity", "Reshape",
                                                    "Squeeze", "Unsqueeze"};

bool among(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

OperatorUnits of_transpose(const Operator& op, const Shape& input, const Shape& result) {
  const std::vector<std::int64_t> order = op.integers("perm");
  if (order.size() != result.size() || order.empty() || order[0] != 0) return {};
  const auto from = static_cast<std::int64_t>(feature_axis(input));
  const bool kept = result.size() > 1 && order[feature_axis(result)] == from;
  return {first_extent(result), kept ? features(result) : 1};
}

// Rows of the first extent stay together, and so do channels that become features.
OperatorUnits of_view(const Shape& input, const Shape& result) {
  if (first_extent(input) != first_extent(result))
    return {std::gcd(first_extent(input), first_extent(result)), 1};
  const bool channels = feature_axis(input) == 1 && feature_axis(result) == 1 &&
                        features(input) > 0 && features(result) % features(input) == 0;
  return {first_extent(result), channels ? features(input) : 1};
}

// Along an axis all of which is needed at once.
OperatorUnits across(const Operator& op, std::int64_t otherwise, const Shape& result,
                     bool to_the_end) {
  std::int64_t along = op.integer("axis", otherwise);
  if (along < 0) along += static_cast<std::int64_t>(result.size());
  const auto axis = static_cast<std::int64_t>(feature_axis(result));
  const bool apart = to_the_end ? along > axis : along != axis;
  return {along == 0 ? 1 : first_extent(result), apart ? features(result) : 1};
}

}  // namespace

std::size_t feature_axis(const Shape& shape) { return shape.size() == 3 ? 2 : 1; }

std::int64_t first_extent(const Shape& shape) { return shape.empty() ? 1 : shape[0]; }

std::int64_t features(const Shape& shape) {
  return shape.size() < 2 ? 1 : shape[feature_axis(shape)];
}

bool is_view(const Operator& op) { return among(kViews, op.type); }

OperatorUnits operator_units(const OperatorGraph& model, const Operator& op) {
  const auto first = op.input(0), output = op.output(0);
  if (!first || !output) return {};
  const Shape &input = model.tensor(*first).shape, &result = model.tensor(*output).shape;
  const OperatorUnits samples{first_extent(result), 1};
  if (among(kPointwise, op.type)) return {first_extent(result), features(result)};
  if (op.type == "Conv") return {first_extent(result), op.integer("group", 1)};
  if (op.type == "Softmax" || op.type == "LogSoftmax")
    return across(op, -1, result, true);
  if (op.type == "Concat") return across(op, 0, result, false);
  if (op.type == "LRN" || op.type == "LayerNormalization") return samples;
  if (op.type == "MatMul") {
    const auto second = op.input(1);
    const bool alike = second && model.tensor(*second).shape.size() == result.size();
    if (!alike || result.size() < 3) return {};
    return {first_extent(result), result.size() > 3 ? features(result) : 1};
  }
  if (op.type == "Transpose") return of_transpose(op, input, result);
  if (is_view(op)) return of_view(input, result);
  return {};
}

}  // namespace espalier
