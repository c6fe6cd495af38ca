// The shapes of what moves elements, and of sums over axes.

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "espalier/model/error.h"
#include "training/step/operator_shapes.h"

namespace espalier::training {
namespace {

// A list that older operators have as an attribute; nothing where it is not known.
std::optional<Shape> known_list(const OperatorView& view, std::string_view attribute,
                                std::size_t place) {
  const bool given = view.op().attributes.contains(attribute);
  if (!given && (!view.has_input(place) || !view.in(place).value)) return std::nullopt;
  return view.list(attribute, place);
}

Shape transpose_result(const OperatorView& view) {
  const Shape& x = view.in(0).shape;
  Shape reversed(x.size());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  const Shape order = view.op().integers("perm", reversed);
  const std::vector<std::size_t> axes = distinct_axes(view, order, x.size());
  if (axes.size() != x.size() || std::ranges::any_of(order, [](auto i) { return i < 0; }))
    view.refuse(fmt::format("its perm is no order of the axes of {}", label(view.in(0))));
  Shape y;
  for (const std::size_t axis : axes) y.push_back(x[axis]);
  return y;
}

Shape concat_result(const OperatorView& view) {
  Shape y = view.in(0).shape;
  const std::size_t axis =
      distinct_axes(view, {view.op().integer("axis", 0)}, y.size()).front();
  for (std::size_t i = 1; i < view.op().inputs.size(); ++i) {
    Shape piece = view.in(0).shape;
    if (view.in(i).shape.size() == piece.size()) piece[axis] = view.in(i).shape[axis];
    expect_shape(view, view.in(i), piece, view.in(0));
    y[axis] = checked_add(y[axis], piece[axis]);
  }
  return y;
}

Shape pad_result(const OperatorView& view) {
  if (view.has_input(3)) view.refuse("paddings of some axes only are not known");
  Shape y = view.in(0).shape;
  const Shape pads = view.list("pads", 1);
  if (pads.size() != 2 * y.size())
    view.refuse(fmt::format("{} pads for {}", pads.size(), label(view.in(0))));
  for (std::size_t axis = 0; axis < y.size(); ++axis) {
    y[axis] = checked_add(checked_add(y[axis], pads[axis]), pads[y.size() + axis]);
    if (y[axis] < 1) view.refuse(fmt::format("nothing is left of {}", label(view.in(0))));
  }
  return y;
}

Shape reduction_result(const OperatorView& view) {
  const Shape& x = view.in(0).shape;
  const std::vector<std::size_t> axes = reduced_axes(view, x);
  const bool keep = view.op().integer("keepdims", 1) != 0;
  Shape y;
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    const bool reduced = std::ranges::find(axes, axis) != axes.end();
    if (!reduced || keep) y.push_back(reduced ? 1 : x[axis]);
  }
  return y;
}

Shape expand_result(const OperatorView& view) {
  const Tensor& x = view.in(0);
  Shape y = known_list(view, "shape", 1).value_or(view.out(0).shape);
  if (x.shape.size() > y.size()) y.insert(y.begin(), x.shape.size() - y.size(), 1);
  for (std::size_t axis = 0; axis < x.shape.size(); ++axis) {
    std::int64_t& extent = y[y.size() - x.shape.size() + axis];
    if (extent == 1) extent = x.shape[axis];
    if (x.shape[axis] != 1 && x.shape[axis] != extent)
      view.refuse(
          fmt::format("{} is not expanded to {}", label(x), espalier::describe(y)));
  }
  return y;
}

Shape gather_result(const OperatorView& view) {
  const Shape &table = view.in(0).shape, &indices = view.in(1).shape;
  const std::size_t axis =
      distinct_axes(view, {view.op().integer("axis", 0)}, table.size()).front();
  Shape y = table;
  const auto at = y.begin() + static_cast<std::ptrdiff_t>(axis);
  y.insert(y.erase(at), indices.begin(), indices.end());
  return y;
}

// Shapes by numbers of which 0 is the extent of x, and one may be -1.
Shape reshape_target(const OperatorView& view, Shape y) {
  const Tensor& x = view.in(0);
  std::optional<std::size_t> open;
  std::int64_t others = 1;
  for (std::size_t axis = 0; axis < y.size(); ++axis) {
    if (y[axis] == 0 && view.op().integer("allowzero", 0) == 0 && axis < x.shape.size())
      y[axis] = x.shape[axis];
    const bool second = y[axis] == -1 && open;
    if (second || (y[axis] < 1 && y[axis] != -1))
      view.refuse(
          fmt::format("{} cannot take the shape {}", label(x), espalier::describe(y)));
    if (y[axis] == -1)
      open = axis;
    else
      others = checked_mul(others, y[axis]);
  }
  if (open) y[*open] = element_count(x.shape) / others;
  return y;
}

Shape flatten_result(const OperatorView& view) {
  const Shape& x = view.in(0).shape;
  const std::int64_t axis = view.axis(view.op().integer("axis", 1), x.size());
  const Shape rows(x.begin(), x.begin() + axis);
  return {element_count(rows), element_count(x) / element_count(rows)};
}

Shape squeeze_result(const OperatorView& view, const Shape& given) {
  const Shape& x = view.in(0).shape;
  const std::vector<std::size_t> axes = distinct_axes(view, given, x.size());
  Shape y;
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    const bool named = std::ranges::find(axes, axis) != axes.end();
    if (named && x[axis] != 1)
      view.refuse(fmt::format("axis {} of {} is not 1", axis, label(view.in(0))));
    if (!named && (!axes.empty() || x[axis] != 1)) y.push_back(x[axis]);
  }
  return y;
}

Shape unsqueeze_result(const OperatorView& view, const Shape& given) {
  const Shape& x = view.in(0).shape;
  const std::size_t rank = x.size() + given.size();
  const std::vector<std::size_t> axes = distinct_axes(view, given, rank);
  Shape y;
  for (std::size_t axis = 0, next = 0; axis < rank; ++axis)
    y.push_back(std::ranges::find(axes, axis) != axes.end() ? 1 : x[next++]);
  return y;
}

}  // namespace

SliceExtents slice_extents(const OperatorView& view, const Shape& x) {
  const Shape starts = view.list("starts", 1), ends = view.list("ends", 2);
  Shape given = view.list("axes", 3), steps = view.list("steps", 4);
  if (given.empty()) {
    given.resize(starts.size());
    std::iota(given.begin(), given.end(), 0);
  }
  if (steps.empty()) steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || given.size() != starts.size() ||
      steps.size() != starts.size())
    view.refuse("of starts, ends, axes and steps there are not as many");
  const std::vector<std::size_t> axes = distinct_axes(view, given, x.size());
  SliceExtents slice{Shape(x.size(), 0), Shape(x.size(), 1), x};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t all = x[axes[i]];
    // Longer steps than the axis has elements take one.
    const std::int64_t step = std::clamp(steps[i], -all - 1, all + 1);
    if (step == 0) view.refuse("a step of 0");
    const auto place = [all](std::int64_t at, std::int64_t least, std::int64_t most) {
      return std::clamp(at < 0 ? at + all : at, least, most);
    };
    const std::int64_t back = step < 0 ? 1 : 0;
    const std::int64_t start = place(starts[i], 0, std::max<std::int64_t>(0, all - back)),
                       end = place(ends[i], -back, all - back);
    const std::int64_t length = back != 0 ? start - end : end - start;
    const std::int64_t stride = back != 0 ? -step : step;
    slice.starts[axes[i]] = start;
    slice.steps[axes[i]] = step;
    slice.extents[axes[i]] = length <= 0 ? 0 : (length + stride - 1) / stride;
  }
  return slice;
}

std::vector<std::size_t> reduced_axes(const OperatorView& view, const Shape& x) {
  Shape given = view.list("axes", 1);
  if (given.empty() && view.op().integer("noop_with_empty_axes", 0) == 0) {
    given.resize(x.size());
    std::iota(given.begin(), given.end(), 0);
  }
  return distinct_axes(view, given, x.size());
}

Shape split_extents(const OperatorView& view, std::int64_t whole) {
  const auto count = std::ssize(view.op().outputs);
  Shape extents = view.list("split", 1);
  if (extents.empty() && view.op().attributes.contains("num_outputs")) {
    if (view.op().integer("num_outputs", 0) != count)
      view.refuse(fmt::format("it has {} outputs, which is not its num_outputs", count));
    const std::int64_t each = (whole + count - 1) / count;
    for (std::int64_t i = 0; i < count; ++i)
      extents.push_back(std::min(each, whole - i * each));
  }
  if (extents.empty() && whole % count == 0)
    extents.assign(static_cast<std::size_t>(count), whole / count);
  std::int64_t sum = 0;
  for (const std::int64_t extent : extents) sum = checked_add(sum, extent);
  if (std::ssize(extents) != count || sum != whole ||
      std::ranges::any_of(extents, [](std::int64_t each) { return each < 1; }))
    view.refuse(fmt::format("its {} results do not divide {}", count, label(view.in(0))));
  return extents;
}

std::optional<Shape> movement_result(const OperatorView& view) {
  const std::string& type = view.op().type;
  if (type == "Transpose") return transpose_result(view);
  if (type == "Concat") return concat_result(view);
  if (type == "Slice") return slice_extents(view, view.in(0).shape).extents;
  if (type == "Pad") return pad_result(view);
  if (type == "ReduceMean" || type == "ReduceSum") return reduction_result(view);
  if (type == "Expand") return expand_result(view);
  if (type == "Gather") return gather_result(view);
  return std::nullopt;
}

std::optional<Shape> reshape_result(const OperatorView& view) {
  const std::string& type = view.op().type;
  if (type == "Flatten") return flatten_result(view);
  if (type != "Reshape" && type != "Squeeze" && type != "Unsqueeze") return std::nullopt;
  const auto axes = known_list(view, "axes", 1), target = known_list(view, "shape", 1);
  const Tensor &x = view.in(0), &y = view.out(0);
  if (type == "Squeeze" && (axes || !view.has_input(1)))
    return squeeze_result(view, axes.value_or(Shape()));
  if (type == "Unsqueeze" && axes) return unsqueeze_result(view, *axes);
  if (element_count(x.shape) != element_count(y.shape))
    view.refuse(fmt::format("{} has not as many elements as {}", label(x), label(y)));
  return type == "Reshape" && target ? reshape_target(view, *target) : y.shape;
}

}  // namespace espalier::training
