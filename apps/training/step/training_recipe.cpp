#include <fmt/format.h>

#include "training/step/messages.h"
#include "training/step/operator_view.h"

namespace espalier::training {
namespace {

Recipe one(const OperatorSpec& spec, std::vector<std::optional<Ingredient>> inputs,
           std::vector<std::optional<Ingredient>> outputs) {
  return {{{spec, std::move(inputs), std::move(outputs)}}};
}

Recipe cross_entropy(const OperatorView& view) {
  OperatorSpec spec{.kind = OperatorKind::kCrossEntropy};
  const std::size_t probabilities = view.is_gradient() ? view.y(1) : 1;
  const Shape& scores = view.is_gradient() ? view.out(0).shape : view.in(0).shape;
  spec.axis = view.axis(view.op().integer("axis", 1), scores.size());
  if (!view.is_gradient())
    return one(spec, {input(0), input(1)}, {output(0), output(probabilities)});
  spec.kind = OperatorKind::kCrossEntropyBackward;
  return one(spec, {input(probabilities), input(view.x(1))}, {output(0)});
}

Recipe mean_square(const OperatorView& view) {
  if (!view.is_gradient())
    return one({.kind = OperatorKind::kMeanSquare}, {input(0), input(1)}, {output(0)});
  return one({.kind = OperatorKind::kMeanSquareBackward},
             {input(view.x(0)), input(view.x(1))}, {output(0)});
}

// The elements of a tensor that a process of several works on: from `first` on, as many
// as `elements`, where the operator has these attributes; else all.
Ingredient slice(Ingredient whole, const Operator& op) {
  if (!op.attributes.contains("elements")) return whole;
  whole.shape = Shape{op.integer("elements", 0)};
  whole.first = tensor_bytes(ElementType::kFloat32, {op.integer("first", 0)});
  return whole;
}

// TakeSlice (x) -> part; PutSlice (part[, x]) -> y, over x.
Recipe move_slice(const OperatorView& view, bool take) {
  if (view.op().integer("elements", 1) == 0) return {};
  const Ingredient from = take ? slice(input(0), view.op()) : input(0);
  const Ingredient to = take ? output(0) : slice(output(0), view.op());
  if (!take && view.has_input(1) && view.overwritten(0) != 1U)
    view.refuse("it does not write over its second input");
  return one({.kind = OperatorKind::kCopy}, {from}, {to});
}

// The graph's updates read dw first; what is changed in place comes after it. Of a
// parameter that is whole beside a slice of its gradient that slice changes.
Recipe update(const OperatorView& view, OperatorKind kind, std::size_t changed,
              const UpdateRule& rule) {
  if (view.op().inputs.size() != changed + 1)
    view.refuse("updates by a norm are not known");
  for (std::size_t i = 0; i < view.op().outputs.size(); ++i)
    if (view.has_output(i) && view.overwritten(i) != i + 1)
      view.refuse(
          fmt::format("{} does not overwrite what it updates", label(view.out(i))));
  RecipeStep step{{.kind = kind, .update = rule}, {}, {}};
  step.inputs.emplace_back(slice(input(1), view.op()));
  for (std::size_t i = 2; i <= changed; ++i) step.inputs.emplace_back(input(i));
  step.inputs.emplace_back(input(0));
  return {{step}};
}

}  // namespace

TrainingOptions step_options(const OperatorGraph& model, Optimiser optimiser) {
  TrainingOptions options{.optimiser = optimiser,
                          .pool_index = ElementType::kUint8,
                          .always_keeps = true,
                          .lrn_keeps_scale = false};
  for (const Operator& op : model.operators())
    if (op.type == "MaxPool" &&
        max_pool_index({.kernel = op.integers("kernel_shape")}) != ElementType::kUint8)
      options.pool_index = ElementType::kInt32;
  return options;
}

std::optional<Recipe> training_recipe(const OperatorView& view,
                                      const RecipeOptions& options) {
  const std::string& type = view.op().type;
  if (type == "SoftmaxCrossEntropyLoss" || type == "SoftmaxCrossEntropyLossGrad")
    return cross_entropy(view);
  if (type == "MeanSquareLoss" || type == "MeanSquareLossGrad") return mean_square(view);
  if (type == "SgdUpdate") return update(view, OperatorKind::kSgd, 1, options.update);
  if (type == "MomentumUpdate")
    return update(view, OperatorKind::kMomentum, 2, options.update);
  if (type == "AdamUpdate") return update(view, OperatorKind::kAdam, 3, options.update);
  if (type == "TakeSlice" || type == "PutSlice")
    return move_slice(view, type == "TakeSlice");
  if (type == "Barrier" || message_of(view.op())) return Recipe{};
  return std::nullopt;
}

}  // namespace espalier::training
