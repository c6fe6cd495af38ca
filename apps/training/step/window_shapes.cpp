// The shapes of convolutions and poolings.

#include <fmt/format.h>

#include <algorithm>

#include "espalier/model/error.h"
#include "training/step/operator_shapes.h"

namespace espalier::training {
namespace {

// Attributes of one axis.
struct AxisWindow {
  std::int64_t span = 1, stride = 1, pads = 0, begin = 0;
};

std::vector<AxisWindow> axis_windows(const OperatorView& view, const Shape& kernel) {
  const Operator& op = view.op();
  const Tensor& x = view.in(0);
  const std::size_t axes = kernel.size();
  if (axes == 0 || x.shape.size() != axes + 2)
    view.refuse(fmt::format("a window of {} axes for {}", axes, label(x)));
  const Shape strides = op.integers("strides", Shape(axes, 1)),
              dilations = op.integers("dilations", Shape(axes, 1)),
              pads = op.integers("pads", Shape(2 * axes, 0));
  if (strides.size() != axes || dilations.size() != axes || pads.size() != 2 * axes)
    view.refuse("its attributes do not fit its spatial axes");
  std::vector<AxisWindow> windows;
  for (std::size_t i = 0; i < axes; ++i) {
    if (kernel[i] < 1 || strides[i] < 1 || dilations[i] < 1)
      view.refuse(
          fmt::format("a kernel of {}, a stride of {} and a dilation of {} along "
                      "axis {}: none may be below 1",
                      kernel[i], strides[i], dilations[i], i + 2));
    windows.push_back({checked_add(checked_mul(kernel[i] - 1, dilations[i]), 1),
                       strides[i], checked_add(pads[i], pads[axes + i]), pads[i]});
  }
  return windows;
}

std::int64_t quotient(std::int64_t a, std::int64_t b, bool up) {
  return a / b + (up && a % b != 0 ? 1 : 0);
}

// The extent along an axis; `declared` is the other one that rounding up allows: without
// a window that begins behind the end.
std::int64_t window_extent(const OperatorView& view, const AxisWindow& window,
                           std::int64_t x, std::int64_t declared) {
  const std::string automatic = view.op().text("auto_pad", "NOTSET");
  if (automatic.starts_with("SAME")) return quotient(x, window.stride, true);
  const bool up = view.op().integer("ceil_mode", 0) != 0;
  const std::int64_t pads = automatic == "VALID" ? 0 : window.pads;
  const std::int64_t room = checked_sub(checked_add(x, pads), window.span);
  if (room < 0)
    view.refuse(fmt::format("its window of {} is larger than {} and its padding",
                            window.span, label(view.in(0))));
  const std::int64_t extent = quotient(room, window.stride, up) + 1;
  const std::int64_t last = checked_mul(extent - 1, window.stride);
  const bool behind = last >= checked_add(x, automatic == "VALID" ? 0 : window.begin);
  return up && behind && declared == extent - 1 ? declared : extent;
}

void append_extents(const OperatorView& view, const Shape& kernel, Shape& y) {
  const std::vector<AxisWindow> windows = axis_windows(view, kernel);
  const Shape &x = view.in(0).shape, &declared = view.out(0).shape;
  for (std::size_t i = 0; i < windows.size(); ++i)
    y.push_back(window_extent(view, windows[i], x[i + 2],
                              i + 2 < declared.size() ? declared[i + 2] : 0));
}

// The extents of the weights' window.
Shape weight_kernel(const OperatorView& view) {
  const Tensor &x = view.in(0), &w = view.in(1);
  if (w.shape.size() < 3 || w.shape.size() != x.shape.size())
    view.refuse(fmt::format("{} are no weights for {}", label(w), label(x)));
  Shape kernel(w.shape.begin() + 2, w.shape.end());
  if (view.op().integers("kernel_shape", kernel) != kernel)
    view.refuse(fmt::format("its kernel_shape is not that of {}", label(w)));
  return kernel;
}

// The channels in and out are those that the weights have.
void check_channels(const OperatorView& view, std::int64_t in, std::int64_t out) {
  const Tensor &x = view.in(0), &w = view.in(1);
  const std::int64_t groups = view.op().integer("group", 1);
  if (groups < 1 || w.shape[0] % groups != 0)
    view.refuse(fmt::format("{} groups do not divide {}", groups, label(w)));
  if (x.shape[1] != in)
    view.refuse(
        fmt::format("{} does not go with {} in {} groups: it would have {} "
                    "channels",
                    label(x), label(w), groups, in));
  if (view.has_input(2)) expect_shape(view, view.in(2), {out}, w);
}

Shape convolution_result(const OperatorView& view) {
  const Shape kernel = weight_kernel(view);
  const Shape &x = view.in(0).shape, &w = view.in(1).shape;
  check_channels(view, checked_mul(w[1], view.op().integer("group", 1)), w[0]);
  Shape y = {x[0], w[0]};
  append_extents(view, kernel, y);
  return y;
}

// An extent of output_shape; beyond `most` one more window would fit.
std::int64_t given_extent(const OperatorView& view, const Shape& given, std::size_t i,
                          std::int64_t most) {
  if (given.size() + 2 != view.in(0).shape.size())
    view.refuse(
        fmt::format("its output_shape has {} extents, for the axes of space of {}",
                    given.size(), label(view.in(0))));
  if (given[i] < 1 || given[i] > most)
    view.refuse(fmt::format(
        "its output_shape has an extent of {}, and 1 to {} can be had", given[i], most));
  return given[i];
}

Shape transposed_result(const OperatorView& view) {
  const Shape kernel = weight_kernel(view);
  const Shape &x = view.in(0).shape, &w = view.in(1).shape;
  const std::int64_t channels = checked_mul(w[1], view.op().integer("group", 1));
  check_channels(view, w[0], channels);
  const Shape more = view.op().integers("output_padding", Shape(kernel.size(), 0));
  if (more.size() != kernel.size()) view.refuse("its output_padding does not fit");
  const std::string automatic = view.op().text("auto_pad", "NOTSET");
  const Shape given = view.op().integers("output_shape", Shape());
  Shape y = {x[0], channels};
  const std::vector<AxisWindow> windows = axis_windows(view, kernel);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const AxisWindow& window = windows[i];
    const std::int64_t whole =
        checked_add(checked_mul(x[i + 2] - 1, window.stride), window.span);
    if (!given.empty()) {
      y.push_back(given_extent(view, given, i, checked_add(whole, window.stride) - 1));
    } else if (automatic.starts_with("SAME")) {
      y.push_back(checked_mul(x[i + 2], window.stride));
    } else {
      y.push_back(checked_sub(checked_add(whole, more[i]), window.pads));
    }
  }
  return y;
}

// Means over windows that reach beyond the padding, which ONNX does not count with it and
// kernels would.
void refuse_overhang(const OperatorView& view, const Shape& kernel, const Shape& y) {
  if (view.op().integer("count_include_pad", 0) == 0 || view.op().type != "AveragePool" ||
      view.op().text("auto_pad", "NOTSET").starts_with("SAME"))
    return;
  const std::vector<AxisWindow> windows = axis_windows(view, kernel);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const AxisWindow& window = windows[i];
    if ((y[i + 2] - 1) * window.stride + window.span >
        view.in(0).shape[i + 2] + window.pads)
      view.refuse(
          fmt::format("with count_include_pad, windows of {} beyond the padding "
                      "of {} are not known",
                      window.span, label(view.in(0))));
  }
}

Shape pooling_result(const OperatorView& view) {
  const Shape& x = view.in(0).shape;
  if (!view.op().attributes.contains("kernel_shape"))
    view.refuse("it does not say its kernel_shape");
  const Shape kernel = view.op().integers("kernel_shape");
  if (x.size() != kernel.size() + 2)
    view.refuse(
        fmt::format("a window of {} axes for {}", kernel.size(), label(view.in(0))));
  Shape y = {x[0], x[1]};
  append_extents(view, kernel, y);
  refuse_overhang(view, kernel, y);
  return y;
}

Shape global_result(const OperatorView& view) {
  Shape y = view.in(0).shape;
  if (y.size() < 3) view.refuse(fmt::format("{} has no positions", label(view.in(0))));
  std::fill(y.begin() + 2, y.end(), 1);
  return y;
}

}  // namespace

std::optional<Shape> window_result(const OperatorView& view) {
  const std::string& type = view.op().type;
  if (type == "Conv") return convolution_result(view);
  if (type == "ConvTranspose") return transposed_result(view);
  if (type == "MaxPool" || type == "AveragePool") return pooling_result(view);
  if (type == "GlobalAveragePool" || type == "GlobalMaxPool") return global_result(view);
  return std::nullopt;
}

}  // namespace espalier::training
