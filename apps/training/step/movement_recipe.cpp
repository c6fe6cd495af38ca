#include <fmt/format.h>

#include <algorithm>
#include <numeric>

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

Recipe concat(const OperatorView& view) {
  const auto axis = view.axis(view.op().integer("axis", 0), view.result_shape().size());
  if (!view.is_gradient()) {
    RecipeStep step{{.kind = OperatorKind::kConcat, .axis = axis}, {}, {output(0)}};
    for (std::size_t i = 0; i < view.op().inputs.size(); ++i)
      step.inputs.emplace_back(input(i));
    return {{step}};
  }
  RecipeStep step{
      {.kind = OperatorKind::kSplit, .axis = axis, .steps = {}}, {input(view.g())}, {}};
  // The width of a piece whose gradient nobody wants is known where it is the last.
  for (std::size_t i = 0; i < view.op().outputs.size(); ++i) {
    if (!view.has_output(i)) view.refuse("not all its inputs have a gradient");
    step.outputs.emplace_back(output(i));
    step.spec.steps.push_back(view.out(i).shape[static_cast<std::size_t>(axis)]);
  }
  return {{step}};
}

Recipe split(const OperatorView& view) {
  const auto axis = view.axis(view.op().integer("axis", 0), view.result_shape().size());
  if (!view.is_gradient()) {
    RecipeStep step{{.kind = OperatorKind::kSplit, .axis = axis}, {input(0)}, {}};
    for (std::size_t i = 0; i < view.op().outputs.size(); ++i) {
      step.outputs.emplace_back(output(i));
      step.spec.steps.push_back(view.out(i).shape[static_cast<std::size_t>(axis)]);
    }
    return {{step}};
  }
  RecipeStep step{{.kind = OperatorKind::kConcat, .axis = axis}, {}, {output(0)}};
  for (std::size_t j = 0; j < view.gradients(); ++j) {
    if (!view.has_input(view.g(j))) view.refuse("not all its outputs have a gradient");
    step.inputs.emplace_back(input(view.g(j)));
  }
  return {{step}};
}

Recipe slice(const OperatorView& view) {
  const Shape& x = view.is_gradient() ? view.out(0).shape : view.in(0).shape;
  const Shape starts = view.list("starts", 1);
  Shape axes = view.list("axes", 3), steps = view.list("steps", 4);
  if (axes.empty()) {
    axes.resize(starts.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (steps.empty()) steps.assign(starts.size(), 1);
  OperatorSpec spec{.kind = OperatorKind::kSlice,
                    .starts = Shape(x.size(), 0),
                    .steps = Shape(x.size(), 1)};
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto axis = static_cast<std::size_t>(view.axis(axes.at(i), x.size()));
    const std::int64_t start = starts[i] < 0 ? starts[i] + x[axis] : starts[i];
    const std::int64_t last = steps.at(i) < 0 ? x[axis] - 1 : x[axis];
    spec.starts[axis] = std::clamp<std::int64_t>(start, 0, last);
    spec.steps[axis] = steps[i];
  }
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
  Shape kept = x, axes = view.list("axes", 1);
  if (axes.empty()) {
    axes.resize(x.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  for (const std::int64_t axis : axes)
    kept[static_cast<std::size_t>(view.axis(axis, x.size()))] = 1;
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
