#include "training/step/operator_shapes.h"

#include <fmt/format.h>

#include <algorithm>

#include "espalier/model/error.h"
#include "espalier/training/gradient_rules.h"

namespace espalier::training {
namespace {

bool is_one_of(std::string_view type, std::initializer_list<std::string_view> types) {
  return std::ranges::find(types, type) != types.end();
}

// Lists of axes and the like may be empty.
void refuse_empty(const OperatorView& view, const Tensor& tensor) {
  const bool list = tensor.role == TensorRole::kConstant && !is_floating(tensor.type);
  if (list || std::ranges::find(tensor.shape, 0) == tensor.shape.end()) return;
  view.refuse(fmt::format("{} has no element", label(tensor)));
}

void check_split(const OperatorView& view) {
  const Tensor& x = view.in(0);
  const std::size_t axis =
      distinct_axes(view, {view.op().integer("axis", 0)}, x.shape.size()).front();
  const Shape extents = split_extents(view, x.shape[axis]);
  for (std::size_t i = 0; i < extents.size(); ++i) {
    Shape piece = x.shape;
    piece[axis] = extents[i];
    if (view.has_output(i)) expect_shape(view, view.out(i), piece, x);
  }
}

void check_results(const OperatorView& view) {
  if (view.op().type == "Split") return check_split(view);
  for (const auto family : {alike_result, normalization_result, product_result,
                            window_result, movement_result, reshape_result})
    if (const auto shape = family(view))
      return expect_shape(view, view.out(0), *shape, view.in(0));
}

}  // namespace

void expect_shape(const OperatorView& view, const Tensor& tensor, const Shape& shape,
                  const Tensor& with) {
  if (tensor.shape == shape) return;
  view.refuse(fmt::format("{} does not go with {}: its shape would be {}", label(tensor),
                          label(with), espalier::describe(shape)));
}

Shape broadcast_shape(const OperatorView& view, std::size_t inputs) {
  Shape all;
  for (std::size_t i = 0; i < inputs; ++i) {
    const Tensor& tensor = view.in(i);
    const Shape before = all;
    const std::size_t rank = tensor.shape.size();
    if (rank > all.size()) all.insert(all.begin(), rank - all.size(), 1);
    for (std::size_t axis = 0; axis < rank; ++axis) {
      std::int64_t& extent = all[all.size() - rank + axis];
      const std::int64_t other = tensor.shape[axis];
      if (extent != other && extent != 1 && other != 1)
        view.refuse(fmt::format("{} and the shape {} are not broadcast to one",
                                label(tensor), espalier::describe(before)));
      extent = std::max(extent, other);
    }
  }
  return all;
}

std::vector<std::size_t> distinct_axes(const OperatorView& view, const Shape& given,
                                       std::size_t rank) {
  std::vector<std::size_t> axes;
  for (const std::int64_t each : given) {
    const std::int64_t axis = each < 0 ? each + static_cast<std::int64_t>(rank) : each;
    if (axis < 0 || axis >= static_cast<std::int64_t>(rank))
      view.refuse(
          fmt::format("axis {} of {} axes, of {}", each, rank, label(view.in(0))));
    axes.push_back(static_cast<std::size_t>(axis));
    if (std::ranges::count(axes, axes.back()) > 1)
      view.refuse(fmt::format("axis {} is given twice", each));
  }
  return axes;
}

std::optional<Shape> alike_result(const OperatorView& view) {
  const std::string& type = view.op().type;
  if (is_elementwise(type) || is_one_of(type, {"Identity", "Cast", "GroupCopy"}))
    return view.in(0).shape;
  if (is_one_of(type, {"Add", "Sub", "Mul", "Div", "Sum", "Max", "Min", "Where"}))
    return broadcast_shape(view, view.op().inputs.size());
  return std::nullopt;
}

void check_shapes(const OperatorView& view) {
  const Operator& op = view.op();
  if (view.is_gradient() || !op.domain.empty() || !gradient_rule(op.type)) return;
  for (const auto* list : {&op.inputs, &op.outputs})
    for (std::size_t i = 0; i < list->size(); ++i)
      if ((*list)[i]) refuse_empty(view, list == &op.inputs ? view.in(i) : view.out(i));
  try {
    check_results(view);
  } catch (const OverflowError&) {
    view.refuse(fmt::format("an extent of what it gives of {} leaves the 64-bit range",
                            label(view.in(0))));
  }
}

}  // namespace espalier::training
