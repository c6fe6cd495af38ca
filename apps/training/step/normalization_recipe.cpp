#include "training/step/operator_view.h"

namespace espalier::training {
namespace {

// x, scale and what was kept of x's moments, and g: gradients of x, scale and bias, those
// that nobody wants to temporaries.
Recipe row_gradient(const OperatorView& view, const OperatorSpec& spec, const Shape& x,
                    const Shape& scale) {
  Recipe recipe;
  RecipeStep step{spec,
                  {input(view.x(0)), input(view.x(1)), input(view.y(1)), input(view.y(2)),
                   input(view.g())},
                  {}};
  for (std::size_t i = 0; i < 3; ++i) {
    if (view.has_output(i)) {
      step.outputs.emplace_back(output(i));
      continue;
    }
    step.outputs.emplace_back(temporary(recipe.temporaries.size()));
    recipe.temporaries.push_back(i == 0 ? x : scale);
  }
  recipe.steps.push_back(step);
  return recipe;
}

// What the graph calls the inverse deviation, and no one else reads, is the variance.
Recipe batch_norm(const OperatorView& view) {
  OperatorSpec spec{.kind = OperatorKind::kBatchNorm,
                    .epsilon = view.op().real("epsilon", 1e-5),
                    .momentum = view.op().real("momentum", 0.9)};
  if (view.is_gradient()) {
    spec.kind = OperatorKind::kBatchNormBackward;
    return row_gradient(view, spec, view.in(view.x(0)).shape, view.in(view.x(1)).shape);
  }
  RecipeStep step{
      spec, {input(0), input(1), input(2)}, {output(0), output(1), output(2)}};
  if (view.has_input(3) && view.has_input(4) &&
      view.op().integer("updates_statistics", 1) != 0) {
    step.inputs.emplace_back(input(3));
    step.inputs.emplace_back(input(4));
  }
  return {{step}};
}

Recipe layer_norm(const OperatorView& view) {
  const Shape& x = view.argument_shape(0);
  OperatorSpec spec{.kind = OperatorKind::kLayerNorm,
                    .axis = view.axis(view.op().integer("axis", -1), x.size()),
                    .epsilon = view.op().real("epsilon", 1e-5)};
  const Shape normalised(x.begin() + spec.axis, x.end());
  if (view.is_gradient()) {
    spec.kind = OperatorKind::kLayerNormBackward;
    return row_gradient(view, spec, x, normalised);
  }
  if (view.has_input(2))
    return {{{spec, {input(0), input(1), input(2)}, {output(0), output(1), output(2)}}}};
  return {{{{.kind = OperatorKind::kFill, .alpha = 0}, {}, {temporary(0)}},
           {spec, {input(0), input(1), temporary(0)}, {output(0), output(1), output(2)}}},
          {normalised}};
}

Recipe group_norm(const OperatorView& view, std::int64_t groups) {
  OperatorSpec spec{.kind = OperatorKind::kGroupNorm,
                    .epsilon = view.op().real("epsilon", 1e-5),
                    .size = groups};
  if (!view.is_gradient())
    return {{{spec, {input(0), input(1), input(2)}, {output(0), output(1), output(2)}}}};
  spec.kind = OperatorKind::kGroupNormBackward;
  return row_gradient(view, spec, view.argument_shape(0), view.in(view.x(1)).shape);
}

Recipe local_norm(const OperatorView& view) {
  OperatorSpec spec{.kind = OperatorKind::kLocalNorm,
                    .alpha = view.op().real("alpha", 1e-4),
                    .beta = view.op().real("beta", 0.75),
                    .size = view.op().integer("size", 5),
                    .bias = view.op().real("bias", 1)};
  if (!view.is_gradient()) return {{{spec, {input(0)}, {output(0)}}}};
  spec.kind = OperatorKind::kLocalNormBackward;
  return {{{spec, {input(view.x(0)), input(view.g())}, {output(0)}}}};
}

}  // namespace

std::optional<Recipe> normalization_recipe(const OperatorView& view) {
  const std::string& type = view.op().type;
  if (type == "BatchNormalization" || type == "BatchNormalizationGrad")
    return batch_norm(view);
  if (type == "LayerNormalization" || type == "LayerNormalizationGrad")
    return layer_norm(view);
  if (type == "GroupNormalization" || type == "GroupNormalizationGrad")
    return group_norm(view, view.op().integer("num_groups", 1));
  if (type == "InstanceNormalization" || type == "InstanceNormalizationGrad")
    return group_norm(view, 0);
  if (type == "LRN" || type == "LRNGrad") return local_norm(view);
  return std::nullopt;
}

}  // namespace espalier::training
