#include <fmt/format.h>

#include <array>
#include <limits>
#include <utility>

#include "training/step/operator_view.h"

namespace espalier::training {
namespace {

using Unary = UnaryFunction;

constexpr std::array kUnaryFunctions = {std::pair{"Relu", Unary::kRelu},
                                        std::pair{"LeakyRelu", Unary::kLeakyRelu},
                                        std::pair{"Elu", Unary::kElu},
                                        std::pair{"Sigmoid", Unary::kSigmoid},
                                        std::pair{"Tanh", Unary::kTanh},
                                        std::pair{"Gelu", Unary::kGelu},
                                        std::pair{"Silu", Unary::kSwish},
                                        std::pair{"Swish", Unary::kSwish},
                                        std::pair{"HardSwish", Unary::kHardSwish},
                                        std::pair{"Exp", Unary::kExp},
                                        std::pair{"Log", Unary::kLog},
                                        std::pair{"Sqrt", Unary::kSqrt},
                                        std::pair{"Abs", Unary::kAbs},
                                        std::pair{"Pow", Unary::kSquare},
                                        std::pair{"Clip", Unary::kClip},
                                        std::pair{"Neg", Unary::kLinear},
                                        std::pair{"Selu", Unary::kSelu},
                                        std::pair{"Reciprocal", Unary::kReciprocal},
                                        std::pair{"HardSigmoid", Unary::kHardSigmoid},
                                        std::pair{"Softplus", Unary::kSoftplus},
                                        std::pair{"Erf", Unary::kErf}};

OperatorSpec spec_of(const OperatorView& view, Unary function) {
  OperatorSpec spec{.kind = OperatorKind::kUnary, .unary = function};
  const Operator& op = view.op();
  switch (function) {
    case Unary::kLeakyRelu:
      spec.alpha = op.real("alpha", 0.01);
      break;
    case Unary::kElu:
      spec.alpha = op.real("alpha", 1);
      break;
    case Unary::kGelu:
      if (op.text("approximate", "none") == "tanh") spec.unary = Unary::kGeluTanh;
      break;
    case Unary::kSquare:
      spec.alpha = view.number(1, 2);
      if (spec.alpha != 2) spec.unary = Unary::kPower;
      break;
    case Unary::kSelu:
      spec.alpha = op.real("alpha", 1.67326319217681884765625);
      spec.beta = op.real("gamma", 1.05070102214813232421875);
      break;
    case Unary::kHardSigmoid:
      spec.alpha = op.real("alpha", 0.2);
      spec.beta = op.real("beta", 0.5);
      break;
    case Unary::kClip:
      spec.alpha = view.number(1, op.real("min", std::numeric_limits<float>::lowest()));
      spec.beta = view.number(2, op.real("max", std::numeric_limits<float>::max()));
      if (!(spec.alpha <= spec.beta))
        view.refuse(fmt::format("nothing lies between {} and {}", spec.alpha, spec.beta));
      break;
    case Unary::kLinear:
      spec.alpha = -1;
      break;
    default:
      break;
  }
  return spec;
}

Recipe unary(const OperatorView& view, Unary function) {
  OperatorSpec spec = spec_of(view, function);
  if (!view.is_gradient()) return {{{spec, {input(0)}, {output(0)}}}};
  if (function == Unary::kLinear) return {{{spec, {input(view.g())}, {output(0)}}}};
  spec.kind = OperatorKind::kUnaryBackward;
  const Ingredient kept = input(uses_result(spec) ? view.y(0) : view.x(0));
  return {{{spec, {kept, input(view.g())}, {output(0)}}}};
}

// The softmax sees what the axis and all behind it make as one line, before operator set
// 13.
Recipe softmax(const OperatorView& view, bool logarithm, std::int64_t default_axis) {
  const Shape& shape = view.result_shape();
  const std::int64_t axis =
      view.axis(view.op().integer("axis", default_axis), shape.size());
  OperatorSpec spec{.kind = OperatorKind::kSoftmax, .logarithm = logarithm, .axis = axis};
  std::optional<Shape> as;
  if (default_axis == 1 && axis + 1 < std::ssize(shape)) {
    const Shape before(shape.begin(), shape.begin() + axis);
    as = Shape{element_count(before), element_count(shape) / element_count(before)};
    spec.axis = 1;
  }
  const auto seen = [&as](Ingredient ingredient) {
    ingredient.shape = as;
    return ingredient;
  };
  if (!view.is_gradient()) return {{{spec, {seen(input(0))}, {seen(output(0))}}}};
  spec.kind = OperatorKind::kSoftmaxBackward;
  return {{{spec, {seen(input(view.y(0))), seen(input(view.g()))}, {seen(output(0))}}}};
}

Recipe causal_softmax(const OperatorView& view) {
  OperatorSpec spec{.kind = OperatorKind::kCausalSoftmax,
                    .alpha = view.op().real("scale", 1)};
  if (!view.is_gradient()) return {{{spec, {input(0)}, {output(0)}}}};
  spec.kind = OperatorKind::kCausalSoftmaxBackward;
  return {{{spec, {input(view.y(0)), input(view.g())}, {output(0)}}}};
}

Recipe dropout(const OperatorView& view) {
  OperatorSpec spec{.kind = OperatorKind::kDropout,
                    .probability = view.number(1, view.op().real("ratio", 0.5)),
                    .stream = static_cast<std::uint64_t>(view.op().integer("seed", 0)),
                    .places = {view.op().integer("first", 0), view.op().integer("run", 0),
                               view.op().integer("stride", 0)}};
  if (!view.is_gradient()) {
    if (!view.has_output(1)) view.refuse("its mask is not kept");
    return {{{spec, {input(0)}, {output(0), output(1)}}}};
  }
  spec.kind = OperatorKind::kDropoutBackward;
  return {{{spec, {input(view.y(1)), input(view.g())}, {output(0)}}}};
}

}  // namespace

bool is_elementwise(std::string_view type) {
  for (const auto& [name, function] : kUnaryFunctions)
    if (type == name) return true;
  return type == "Softmax" || type == "LogSoftmax" || type == "CausalSoftmax" ||
         type == "Dropout";
}

std::optional<Recipe> elementwise_recipe(const OperatorView& view) {
  std::string_view type = view.op().type;
  if (view.is_gradient()) type.remove_suffix(4);
  for (const auto& [name, function] : kUnaryFunctions)
    if (type == name) return unary(view, function);
  if (type == "Softmax" || type == "LogSoftmax")
    return softmax(view, type == "LogSoftmax", view.default_softmax_axis());
  if (type == "CausalSoftmax") return causal_softmax(view);
  if (type == "Dropout") return dropout(view);
  return std::nullopt;
}

}  // namespace espalier::training
