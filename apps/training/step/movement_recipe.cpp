#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "training/step/operator_shapes.h"
#include "training/step/operator_view.h"

namespace espalier::training {
namespace {

Recipe one(const OperatorSpec& spec, const Ingredient& from, const Ingredient& to) {
  return {{{spec, {from}, {to}}}};
}

Recipe transpose(const OperatorView& view) {
  const std::size_t rank = view.result_shape().size();
  Shape reversed(rank);
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  Shape axes = view.op().integers("perm", reversed);
  OperatorSpec spec{.kind = OperatorKind::kTranspose, .axes = axes};
  if (!view.is_gradient()) return one(spec, input(0), output(0));
  for (std::size_t i = 0; i < rank; ++i)
    spec.axes[static_cast<std::size_t>(axes[i])] = static_cast<std::int64_t>(i);
  return one(spec, input(view.g()), output(0));
}

// Pieces that nobody wants are left out.
Recipe split_into_pieces(const OperatorView& view, const OperatorSpec& spec,
                         const Ingredient& from) {
  RecipeStep step{spec, {from}, {}};
  for (std::size_t i = 0; i < view.op().outputs.size(); ++i) {
    step.outputs.emplace_back();
    if (view.has_output(i)) step.outputs.back() = output(i);
  }
  return {{step}};
}

Recipe concat(const OperatorView& view) {
  const auto axis = view.axis(view.op().integer("axis", 0), view.result_shape().size());
  if (!view.is_gradient()) {
    RecipeStep step{{.kind = OperatorKind::kConcat, .axis = axis}, {}, {output(0)}};
    for (std::size_t i = 0; i < view.op().inputs.size(); ++i)
      step.inputs.emplace_back(input(i));
    return {{step}};
  }
  return split_into_pieces(
      view,
      {.kind = OperatorKind::kSplit, .axis = axis, .steps = view.op().integers("pieces")},
      input(view.g()));
}

// The extents of a Split's results; that of one that is left out is what the others
// leave.
Shape gradient_pieces(const OperatorView& view, std::int64_t whole) {
  Shape pieces = view.op().integers("pieces");
  if (std::ranges::count(pieces, 0) > 1)
    view.refuse("several of the results that it undoes are left out");
  const std::int64_t rest =
      whole - std::accumulate(pieces.begin(), pieces.end(), std::int64_t{0});
  std::ranges::replace(pieces, 0, rest);
  return pieces;
}

Recipe split(const OperatorView& view) {
  const std::size_t rank =
      view.is_gradient() ? view.out(0).shape.size() : view.in(0).shape.size();
  const auto axis = view.axis(view.op().integer("axis", 0), rank);
  if (!view.is_gradient()) {
    const std::int64_t whole = view.in(0).shape[static_cast<std::size_t>(axis)];
    return split_into_pieces(
        view,
        {.kind = OperatorKind::kSplit, .axis = axis, .steps = split_extents(view, whole)},
        input(0));
  }
  Recipe recipe;
  RecipeStep step{{.kind = OperatorKind::kConcat, .axis = axis}, {}, {output(0)}};
  const Shape pieces =
      gradient_pieces(view, view.out(0).shape[static_cast<std::size_t>(axis)]);
  for (std::size_t j = 0; j < view.gradients(); ++j) {
    if (view.has_input(view.g(j))) {
      step.inputs.emplace_back(input(view.g(j)));
      continue;
    }
    // Of a result that the loss does not depend on the gradient is 0.
    Shape piece = view.out(0).shape;
    piece[static_cast<std::size_t>(axis)] = pieces.at(j);
    step.inputs.emplace_back(temporary(recipe.temporaries.size()));
    recipe.temporaries.push_back(piece);
    recipe.steps.push_back(
        {{.kind = OperatorKind::kFill, .alpha = 0}, {}, {step.inputs.back()}});
  }
  recipe.steps.push_back(step);
  return recipe;
}

Recipe slice(const OperatorView& view) {
  const Shape& x = view.is_gradient() ? view.out(0).shape : view.in(0).shape;
  const SliceExtents of = slice_extents(view, x);
  OperatorSpec spec{.kind = OperatorKind::kSlice, .starts = of.starts, .steps = of.steps};
  if (!view.is_gradient()) return one(spec, input(0), output(0));
  spec.kind = OperatorKind::kSliceBackward;
  return one(spec, input(view.g()), output(0));
}

Recipe pad(const OperatorView& view) {
  if (view.op().text("mode", "constant") != "constant")
    view.refuse("of paddings only constant ones are known");
  const Shape pads = view.list("pads", 1);
  OperatorSpec spec{.kind = OperatorKind::kPad,
                    .starts = {pads.begin(), pads.begin() + std::ssize(pads) / 2},
                    .alpha = 0};
  if (!view.is_gradient()) {
    spec.alpha = view.number(2, view.op().real("value", 0));
    return one(spec, input(0), output(0));
  }
  for (std::int64_t& start : spec.starts) start = -start;
  return one(spec, input(view.g()), output(0));
}

// The reduced axes stay, as 1.
Recipe reduction(const OperatorView& view, bool mean) {
  const Shape& x = view.is_gradient() ? view.out(0).shape : view.in(0).shape;
  Shape kept = x;
  for (const std::size_t axis : reduced_axes(view, x)) kept[axis] = 1;
  const double count =
      static_cast<double>(element_count(x)) /
      static_cast<double>(std::max<std::int64_t>(1, element_count(kept)));
  OperatorSpec spec{.kind = OperatorKind::kReduce, .alpha = mean ? 1 / count : 1};
  Ingredient small = view.is_gradient() ? input(view.g()) : output(0);
  small.shape = kept;
  if (!view.is_gradient()) return one(spec, input(0), small);
  spec.kind = OperatorKind::kExpand;
  return one(spec, small, output(0));
}

Recipe expand(const OperatorView& view) {
  if (!view.is_gradient())
    return one({.kind = OperatorKind::kExpand}, input(0), output(0));
  return one({.kind = OperatorKind::kReduce}, input(view.g()), output(0));
}

Recipe gather(const OperatorView& view) {
  const Shape& table = view.is_gradient() ? view.out(0).shape : view.in(0).shape;
  OperatorSpec spec{.kind = OperatorKind::kGather,
                    .axis = view.axis(view.op().integer("axis", 0), table.size())};
  if (!view.is_gradient()) return {{{spec, {input(0), input(1)}, {output(0)}}}};
  spec.kind = OperatorKind::kGatherBackward;
  return {{{spec, {input(view.x(1)), input(view.g())}, {output(0)}}}};
}

Recipe copy(const OperatorView& view) {
  if (view.in(0).type != view.out(0).type) {
    if (view.is_gradient()) view.refuse("gradients of another type are not known");
    const bool truth = view.out(0).type == ElementType::kBool;
    return one({.kind = OperatorKind::kCast, .truth = truth}, input(0), output(0));
  }
  return one({.kind = OperatorKind::kCopy}, input(0), output(0));
}

}  // namespace

std::optional<Recipe> movement_recipe(const OperatorView& view) {
  std::string_view type = view.op().type;
  if (view.is_gradient()) type.remove_suffix(4);
  if (type == "Transpose") return transpose(view);
  if (type == "Concat") return concat(view);
  if (type == "Split") return split(view);
  if (type == "Slice") return slice(view);
  if (type == "Pad") return pad(view);
  if (type == "ReduceMean" || type == "ReduceSum")
    return reduction(view, type == "ReduceMean");
  if (type == "Expand") return expand(view);
  if (type == "Gather") return gather(view);
  for (const char* same :
       {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Cast"})
    if (type == same) return copy(view);
  return std::nullopt;
}

}  // namespace espalier::training
