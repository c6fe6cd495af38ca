#include "training/step/operator_shapes.h"
#include "training/step/operator_view.h"

namespace espalier::training {
namespace {

Ingredient new_temporary(Recipe& recipe, const Shape& shape) {
  recipe.temporaries.push_back(shape);
  return temporary(recipe.temporaries.size() - 1);
}

// A tensor of `own` extents seen with no more axes than `rank`; the others are 1.
Ingredient with_rank(Ingredient ingredient, const Shape& own, std::size_t rank) {
  if (own.size() > rank)
    ingredient.shape = Shape(own.end() - static_cast<std::ptrdiff_t>(rank), own.end());
  return ingredient;
}

// A scale or a bias with an entry for each element that is normalised.
Ingredient widened(Recipe& recipe, const Ingredient& from, const Shape& own,
                   const Shape& wide) {
  if (own == wide) return from;
  const Ingredient to = new_temporary(recipe, wide);
  recipe.steps.push_back(
      {{.kind = OperatorKind::kExpand}, {with_rank(from, own, wide.size())}, {to}});
  return to;
}

// x, scale and what was kept of x's moments, and g: gradients of x, scale and bias, those
// that nobody wants to temporaries. The kernel gives those of scale and bias as they have
// been `widened`, which are summed up where that was a broadcast.
Recipe row_gradient(const OperatorView& view, const OperatorSpec& spec, const Shape& x,
                    const Shape& wide) {
  Recipe recipe;
  const Shape& own = view.in(view.x(1)).shape;
  const Ingredient scale = widened(recipe, input(view.x(1)), own, wide);
  RecipeStep step{
      spec,
      {input(view.x(0)), scale, input(view.y(1)), input(view.y(2)), input(view.g())},
      {}};
  std::vector<RecipeStep> sums;
  for (std::size_t i = 0; i < 3; ++i) {
    const Shape& shape = i == 0 ? x : wide;
    if (view.has_output(i) && view.out(i).shape == shape) {
      step.outputs.emplace_back(output(i));
      continue;
    }
    step.outputs.emplace_back(new_temporary(recipe, shape));
    if (view.has_output(i))
      sums.push_back({{.kind = OperatorKind::kReduce},
                      {step.outputs.back()},
                      {with_rank(output(i), view.out(i).shape, wide.size())}});
  }
  recipe.steps.push_back(step);
  recipe.steps.insert(recipe.steps.end(), sums.begin(), sums.end());
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
  const Shape normalised = normalised_shape(view);
  if (view.is_gradient()) {
    spec.kind = OperatorKind::kLayerNormBackward;
    return row_gradient(view, spec, x, normalised);
  }
  Recipe recipe;
  const Ingredient scale = widened(recipe, input(1), view.in(1).shape, normalised);
  const Ingredient bias = view.has_input(2)
                              ? widened(recipe, input(2), view.in(2).shape, normalised)
                              : new_temporary(recipe, normalised);
  if (!view.has_input(2))
    recipe.steps.push_back({{.kind = OperatorKind::kFill, .alpha = 0}, {}, {bias}});
  recipe.steps.push_back(
      {spec, {input(0), scale, bias}, {output(0), output(1), output(2)}});
  return recipe;
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
