// The shapes of what has an entry for each channel or each normalised element.

#include <fmt/format.h>

#include <algorithm>

#include "training/step/operator_shapes.h"

namespace espalier::training {
namespace {

const Tensor& with_channels(const OperatorView& view) {
  const Tensor& x = view.in(0);
  if (x.shape.size() < 2) view.refuse(fmt::format("{} has no channels", label(x)));
  return x;
}

void expect_per_channel(const OperatorView& view, std::size_t first, std::size_t last) {
  const Tensor& x = with_channels(view);
  for (std::size_t i = first; i <= last; ++i)
    if (i < 3 || view.has_input(i)) expect_shape(view, view.in(i), {x.shape[1]}, x);
}

void check_layer_norm(const OperatorView& view) {
  const Tensor& x = view.in(0);
  const Shape normalised = normalised_shape(view);
  for (std::size_t i = 1; i < 3; ++i) {
    if (i == 2 && !view.has_input(i)) continue;
    const Tensor& affine = view.in(i);
    Shape own = affine.shape;
    while (own.size() > normalised.size() && own.front() == 1) own.erase(own.begin());
    bool broadcast = own.size() <= normalised.size();
    for (std::size_t axis = 0; broadcast && axis < own.size(); ++axis)
      broadcast = own[axis] == 1 ||
                  own[axis] == normalised[normalised.size() - own.size() + axis];
    if (!broadcast) expect_shape(view, affine, normalised, x);
  }
}

// Of scale and bias both have an entry for each group, or for each channel.
void check_group_norm(const OperatorView& view) {
  const Tensor &x = with_channels(view), &scale = view.in(1);
  if (!view.op().attributes.contains("num_groups"))
    view.refuse("it does not say its num_groups");
  const std::int64_t groups = view.op().integer("num_groups", 0);
  if (groups < 1 || x.shape[1] % groups != 0)
    view.refuse(
        fmt::format("its {} groups do not divide the channels of {}", groups, label(x)));
  const Shape by_group = {groups}, by_channel = {x.shape[1]};
  if (scale.shape != by_group) expect_shape(view, scale, by_channel, x);
  expect_shape(view, view.in(2), scale.shape, scale);
}

}  // namespace

Shape normalised_shape(const OperatorView& view) {
  const Shape& x = view.argument_shape(0);
  const std::int64_t axis = view.axis(view.op().integer("axis", -1), x.size());
  if (axis == std::ssize(x)) view.refuse(fmt::format("axis {} of {} axes", axis, axis));
  return {x.begin() + axis, x.end()};
}

std::optional<Shape> normalization_result(const OperatorView& view) {
  const std::string& type = view.op().type;
  if (type == "BatchNormalization")
    expect_per_channel(view, 1, 4);
  else if (type == "InstanceNormalization")
    expect_per_channel(view, 1, 2);
  else if (type == "LayerNormalization")
    check_layer_norm(view);
  else if (type == "GroupNormalization")
    check_group_norm(view);
  else if (type != "LRN")
    return std::nullopt;
  else if (with_channels(view); view.op().integer("size", 0) < 1)
    view.refuse("its size is not given, or below 1");
  return view.in(0).shape;
}

}  // namespace espalier::training
