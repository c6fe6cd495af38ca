#include <algorithm>

#include "training/step/operator_view.h"

namespace espalier::training {
namespace {

Recipe convolution(const OperatorView& view) {
  const Shape &w = view.in(1).shape, &x = view.in(0).shape;
  OperatorSpec spec{
      .kind = OperatorKind::kConvolution,
      .window = window_of(view, {w.begin() + 2, w.end()}, x, view.out(0).shape)};
  RecipeStep step{spec, {input(0), input(1)}, {output(0)}};
  if (view.has_input(2)) step.inputs.push_back(input(2));
  return {{step}};
}

Recipe convolution_gradient(const OperatorView& view) {
  const Shape &w = view.argument_shape(1), &x = view.argument_shape(0);
  OperatorSpec spec{
      .kind = OperatorKind::kConvolutionBackwardData,
      .window = window_of(view, {w.begin() + 2, w.end()}, x, view.in(0).shape)};
  Recipe recipe;
  if (view.has_output(0))
    recipe.steps.push_back({spec, {input(view.g()), input(view.x(1))}, {output(0)}});
  if (!view.has_output(1) && !view.has_output(2)) return recipe;
  spec.kind = OperatorKind::kConvolutionBackwardWeights;
  if (!view.has_output(1)) view.refuse("the gradient of the bias alone is not known");
  RecipeStep step{spec, {input(view.x(0)), input(view.g())}, {output(1)}};
  if (view.has_output(2)) step.outputs.push_back(output(2));
  recipe.steps.push_back(step);
  return recipe;
}

// A channel of a bias, seen beside (samples, channels, positions ...).
Ingredient by_channel(Ingredient bias, const Shape& y) {
  Shape shape(y.size() - 1, 1);
  shape[0] = y[1];
  bias.shape = shape;
  return bias;
}

// The convolution whose gradient it is takes y to x, with the same weights.
OperatorSpec transposed_spec(const OperatorView& view, OperatorKind kind,
                             const Shape& y) {
  const Shape& w = view.argument_shape(1);
  return {.kind = kind,
          .window = window_of(view, {w.begin() + 2, w.end()}, y, view.argument_shape(0))};
}

Recipe transposed_convolution(const OperatorView& view) {
  const Shape& y = view.out(0).shape;
  Recipe recipe{{{transposed_spec(view, OperatorKind::kConvolutionBackwardData, y),
                  {input(0), input(1)},
                  {output(0)}}}};
  if (view.has_input(2))
    recipe.steps.push_back(
        {{.kind = OperatorKind::kBinary, .binary = BinaryFunction::kAdd},
         {output(0), by_channel(input(2), y)},
         {output(0)}});
  return recipe;
}

Recipe transposed_convolution_gradient(const OperatorView& view) {
  const Shape& y = view.in(view.g()).shape;
  const Ingredient g = input(view.g());
  Recipe recipe;
  if (view.has_output(0))
    recipe.steps.push_back({transposed_spec(view, OperatorKind::kConvolution, y),
                            {g, input(view.x(1))},
                            {output(0)}});
  if (view.has_output(1))
    recipe.steps.push_back(
        {transposed_spec(view, OperatorKind::kConvolutionBackwardWeights, y),
         {g, input(view.x(0))},
         {output(1)}});
  if (view.has_output(2))
    recipe.steps.push_back(
        {{.kind = OperatorKind::kReduce}, {g}, {by_channel(output(2), y)}});
  return recipe;
}

// y = alpha op(a) op(b) + beta c
struct Product {
  double alpha = 1, beta = 1;
  bool a = false, b = false;  // transposed
};
Product product_of(const OperatorView& view) {
  if (view.op().type.starts_with("MatMul")) return {};
  return {view.op().real("alpha", 1), view.op().real("beta", 1),
          view.op().integer("transA", 0) != 0, view.op().integer("transB", 0) != 0};
}
OperatorSpec matmul(double alpha, bool a, bool b) {
  return {
      .kind = OperatorKind::kMatMul, .transpose_a = a, .transpose_b = b, .alpha = alpha};
}

// A vector is a row on the left and a column on the right.
Shape as_matrix(Shape shape, bool left) {
  if (shape.size() == 1) shape.insert(left ? shape.begin() : shape.end(), 1);
  return shape;
}

// The extents of a MatMul's operands and its result as matrices in batches.
struct MatrixBatches {
  Shape a, b, y;

  explicit MatrixBatches(const OperatorView& view)
      : a(as_matrix(view.argument_shape(0), true)),
        b(as_matrix(view.argument_shape(1), false)),
        y(view.result_shape()) {
    // The axes of vectors are none of y's.
    if (view.argument_shape(0).size() == 1)
      y.insert(y.end() - (view.argument_shape(1).size() == 1 ? 0 : 1), 1);
    if (view.argument_shape(1).size() == 1) y.push_back(1);
  }
};

bool has_vector(const OperatorView& view) {
  return view.argument_shape(0).size() == 1 || view.argument_shape(1).size() == 1;
}

Ingredient seen(Ingredient ingredient, const Shape& shape) {
  ingredient.shape = shape;
  return ingredient;
}

Recipe product_with_vector(const OperatorView& view) {
  const MatrixBatches of(view);
  return {{{matmul(1, false, false),
            {seen(input(0), of.a), seen(input(1), of.b)},
            {seen(output(0), of.y)}}}};
}

// Products in all batches of y, summed over those in which the operand was broadcast.
Recipe broadcast_matmul_gradient(const OperatorView& view) {
  const MatrixBatches of(view);
  const Ingredient g = seen(input(view.g()), of.y);
  Recipe recipe;
  for (std::size_t i = 0; i < 2; ++i) {
    if (!view.has_output(i)) continue;
    const Shape& own = i == 0 ? of.a : of.b;
    Shape all = of.y;
    std::copy(own.end() - 2, own.end(), all.end() - 2);
    const Ingredient to = temporary(recipe.temporaries.size());
    recipe.temporaries.push_back(all);
    recipe.steps.push_back(
        i == 0
            ? RecipeStep{matmul(1, false, true), {g, seen(input(view.x(1)), of.b)}, {to}}
            : RecipeStep{
                  matmul(1, true, false), {seen(input(view.x(0)), of.a), g}, {to}});
    recipe.steps.push_back(
        {{.kind = OperatorKind::kReduce}, {to}, {seen(output(i), own)}});
  }
  return recipe;
}

// Whether the batches of an operand are those of the result, or its second is one matrix
// for all rows of the first.
bool has_plain_batches(const OperatorView& view) {
  const Shape &a = view.argument_shape(0), &b = view.argument_shape(1),
              &y = view.result_shape();
  if (has_vector(view)) return false;
  const auto batch = [](const Shape& shape) {
    return Shape(shape.begin(), shape.end() - 2);
  };
  return batch(a) == batch(y) && (batch(b) == batch(y) || b.size() == 2);
}

Recipe product(const OperatorView& view) {
  if (has_vector(view)) return product_with_vector(view);
  const Product of = product_of(view);
  RecipeStep step{matmul(of.alpha, of.a, of.b), {input(0), input(1)}, {output(0)}};
  if (!view.has_input(2)) return {{step}};
  if (of.beta == 1) {
    step.inputs.push_back(input(2));
    return {{step}};
  }
  step.inputs.push_back(temporary(0));
  const OperatorSpec scale{.kind = OperatorKind::kUnary,
                           .unary = UnaryFunction::kLinear,
                           .alpha = of.beta,
                           .beta = 0};
  return {{{scale, {input(2)}, {temporary(0)}}, step}, {view.in(2).shape}};
}

Recipe matmul_gradient(const OperatorView& view) {
  if (!has_plain_batches(view)) return broadcast_matmul_gradient(view);
  const Product of = product_of(view);
  const Ingredient g = input(view.g()), a = input(view.x(0)), b = input(view.x(1));
  Recipe recipe;
  if (view.has_output(0))
    recipe.steps.push_back(
        of.a ? RecipeStep{matmul(of.alpha, of.b, true), {b, g}, {output(0)}}
             : RecipeStep{matmul(of.alpha, false, !of.b), {g, b}, {output(0)}});
  if (view.has_output(1))
    recipe.steps.push_back(
        of.b ? RecipeStep{matmul(of.alpha, true, of.a), {g, a}, {output(1)}}
             : RecipeStep{matmul(of.alpha, !of.a, false), {a, g}, {output(1)}});
  if (view.has_output(2))
    recipe.steps.push_back(
        {{.kind = OperatorKind::kReduce, .alpha = of.beta}, {g}, {output(2)}});
  return recipe;
}

}  // namespace

std::optional<Recipe> linear_recipe(const OperatorView& view) {
  const std::string& type = view.op().type;
  if (type == "Conv") return convolution(view);
  if (type == "ConvGrad") return convolution_gradient(view);
  if (type == "ConvTranspose") return transposed_convolution(view);
  if (type == "ConvTransposeGrad") return transposed_convolution_gradient(view);
  if (type == "Gemm" || type == "MatMul") return product(view);
  if (type == "GemmGrad" || type == "MatMulGrad") return matmul_gradient(view);
  return std::nullopt;
}

}  // namespace espalier::training
