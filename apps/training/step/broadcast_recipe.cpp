#include <array>
#include <utility>

#include "training/step/operator_view.h"

namespace espalier::training {
namespace {

using Binary = BinaryFunction;

constexpr std::array kBinaryFunctions = {
    std::pair{"Add", Binary::kAdd}, std::pair{"Sub", Binary::kSubtract},
    std::pair{"Mul", Binary::kMultiply}, std::pair{"Div", Binary::kDivide}};

OperatorSpec binary(Binary function) {
  return {.kind = OperatorKind::kBinary, .binary = function};
}

// What is written over comes first, where the order does not matter.
Recipe two(const OperatorView& view, Binary function) {
  std::size_t first = 0, second = 1;
  const bool commutes = function == Binary::kAdd || function == Binary::kMultiply;
  if (commutes && view.overwritten(0) == 1) std::swap(first, second);
  return {{{binary(function), {input(first), input(second)}, {output(0)}}}};
}

// One after the other in a temporary, so that no input is written over before it is read.
Recipe broadcast_sum(const OperatorView& view) {
  const std::size_t last = view.op().inputs.size() - 1;
  Recipe recipe{{}, {view.out(0).shape}};
  for (std::size_t i = 1; i <= last; ++i)
    recipe.steps.push_back({binary(Binary::kAdd),
                            {i == 1 ? input(0) : temporary(0), input(i)},
                            {i == last ? output(0) : temporary(0)}});
  return recipe;
}

Recipe sum(const OperatorView& view) {
  const std::size_t count = view.op().inputs.size();
  if (count == 1) return {{{{.kind = OperatorKind::kCopy}, {input(0)}, {output(0)}}}};
  if (count == 2) return two(view, Binary::kAdd);
  for (std::size_t i = 0; i < count; ++i)
    if (view.in(i).shape != view.out(0).shape) return broadcast_sum(view);
  const std::size_t first = view.overwritten(0).value_or(0);
  RecipeStep step{{.kind = OperatorKind::kSum}, {input(first)}, {output(0)}};
  for (std::size_t i = 0; i < count; ++i)
    if (i != first) step.inputs.emplace_back(input(i));
  return {{step}};
}

// To output i goes `from`, summed over what was broadcast.
void add_reduction(Recipe& recipe, const OperatorView& view, const Ingredient& from,
                   std::size_t i, double factor) {
  const bool same = view.out(i).shape == view.in(view.g()).shape;
  OperatorSpec spec{.kind = OperatorKind::kReduce, .alpha = factor};
  if (same && factor == 1) spec.kind = OperatorKind::kCopy;
  if (same && factor != 1)
    spec = {.kind = OperatorKind::kUnary,
            .unary = UnaryFunction::kLinear,
            .alpha = factor,
            .beta = 0};
  recipe.steps.push_back({spec, {from}, {output(i)}});
}

Recipe sum_gradient(const OperatorView& view, bool subtracts) {
  Recipe recipe;
  for (std::size_t i = 0; i < view.op().outputs.size(); ++i)
    if (view.has_output(i))
      add_reduction(recipe, view, input(view.g()), i, subtracts && i == 1 ? -1 : 1);
  return recipe;
}

// The product of the gradient and the other factor, and its sum where this one was
// broadcast.
Recipe product_gradient(const OperatorView& view) {
  Recipe recipe;
  const Shape& g = view.in(view.g()).shape;
  for (std::size_t i = 0; i < 2; ++i) {
    if (!view.has_output(i)) continue;
    const Ingredient other = input(view.x(1 - i));
    const bool same = view.out(i).shape == g;
    const Ingredient to = same ? output(i) : temporary(recipe.temporaries.size());
    recipe.steps.push_back({binary(Binary::kMultiply), {input(view.g()), other}, {to}});
    if (same) continue;
    recipe.temporaries.push_back(g);
    add_reduction(recipe, view, to, i, 1);
  }
  // A gradient that overwrites g comes last.
  if (recipe.steps.size() > 1 && view.has_output(0) && view.overwritten(0) == view.g())
    std::swap(recipe.steps.front(), recipe.steps.back());
  return recipe;
}

// dx_0 = g / x_1, dx_1 = -g x_0 / x_1².
Recipe quotient_gradient(const OperatorView& view) {
  Recipe recipe;
  const Ingredient g = input(view.g()), below = input(view.x(1));
  const Ingredient t = temporary(0);
  recipe.temporaries.push_back(view.in(view.g()).shape);
  if (view.has_output(1)) {
    recipe.steps.push_back({binary(Binary::kMultiply), {g, input(view.x(0))}, {t}});
    for (int i = 0; i < 2; ++i)
      recipe.steps.push_back({binary(Binary::kDivide), {t, below}, {t}});
    add_reduction(recipe, view, t, 1, -1);
  }
  if (view.has_output(0)) {
    recipe.steps.push_back({binary(Binary::kDivide), {g, below}, {t}});
    add_reduction(recipe, view, t, 0, 1);
  }
  return recipe;
}

Recipe extreme(const OperatorView& view, Binary function) {
  RecipeStep step{{.kind = OperatorKind::kExtreme, .binary = function}, {}, {output(0)}};
  for (std::size_t i = 0; i < view.op().inputs.size(); ++i)
    step.inputs.emplace_back(input(i));
  if (view.has_output(1)) step.outputs.emplace_back(output(1));
  return {{step}};
}

// To output i the gradient where `choice` is what of(i) says.
template <class Of>
Recipe chosen_gradient(const OperatorView& view, std::size_t choice, const Of& of) {
  Recipe recipe;
  const Shape& g = view.in(view.g()).shape;
  for (std::size_t i = 0; i < view.op().outputs.size(); ++i) {
    if (!view.has_output(i)) continue;
    const bool same = view.out(i).shape == g;
    if (!same && recipe.temporaries.empty()) recipe.temporaries.push_back(g);
    const Ingredient to = same ? output(i) : temporary(0);
    recipe.steps.push_back({{.kind = OperatorKind::kChosen, .axis = of(i)},
                            {input(choice), input(view.g())},
                            {to}});
    if (!same) add_reduction(recipe, view, to, i, 1);
  }
  return recipe;
}

}  // namespace

std::optional<Recipe> broadcast_recipe(const OperatorView& view) {
  const std::string& type = view.op().type;
  for (const auto& [name, function] : kBinaryFunctions)
    if (type == name) return two(view, function);
  if (type == "Sum" || type == "Accumulate") return sum(view);
  if (type == "AddGrad" || type == "SumGrad") return sum_gradient(view, false);
  if (type == "SubGrad") return sum_gradient(view, true);
  if (type == "MulGrad") return product_gradient(view);
  if (type == "DivGrad") return quotient_gradient(view);
  if (type == "Max") return extreme(view, Binary::kMaximum);
  if (type == "Min") return extreme(view, Binary::kMinimum);
  if (type == "MaxGrad" || type == "MinGrad")
    return chosen_gradient(view, view.y(1),
                           [](std::size_t i) { return std::int64_t(i); });
  if (type == "Where")
    return Recipe{
        {{{.kind = OperatorKind::kWhere}, {input(0), input(1), input(2)}, {output(0)}}}};
  if (type == "WhereGrad")
    return chosen_gradient(view, view.x(0),
                           [](std::size_t i) { return std::int64_t{i == 1}; });
  return std::nullopt;
}

}  // namespace espalier::training
