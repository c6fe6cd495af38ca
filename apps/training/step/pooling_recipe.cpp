#include <fmt/format.h>

#include <algorithm>

#include "training/step/operator_view.h"

namespace espalier::training {

Window window_of(const OperatorView& view, const Shape& kernel, const Shape& x,
                 const Shape& y) {
  const Operator& op = view.op();
  const std::size_t spatial = kernel.size();
  const Shape ones(spatial, 1), zeros(2 * spatial, 0);
  if (x.size() != spatial + 2 || y.size() != spatial + 2)
    view.refuse(fmt::format("{} spatial axes of {} and {}", spatial,
                            espalier::describe(x), espalier::describe(y)));
  const Shape pads = op.integers("pads", zeros);
  Window window{.kernel = kernel,
                .strides = op.integers("strides", ones),
                .dilations = op.integers("dilations", ones),
                .groups = op.integer("group", 1),
                .count_padding = op.integer("count_include_pad", 0) != 0};
  if (pads.size() != 2 * spatial || window.strides.size() != spatial ||
      window.dilations.size() != spatial)
    view.refuse("its attributes do not fit its spatial axes");
  const auto half = static_cast<std::ptrdiff_t>(spatial);
  window.pads_begin.assign(pads.begin(), pads.begin() + half);
  window.pads_end.assign(pads.begin() + half, pads.end());
  const std::string automatic = op.text("auto_pad", "NOTSET");
  const bool given = !op.integers("output_shape", Shape()).empty();
  if (!automatic.starts_with("SAME") && !given) return window;
  // Of a ConvTranspose, whose output is x here.
  const Shape more = op.integers("output_padding", Shape(spatial, 0));
  const bool begins_with_less = automatic == "SAME_UPPER";
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::int64_t span = (kernel[i] - 1) * window.dilations[i] + 1;
    const std::int64_t all = std::max<std::int64_t>(
        0, (y[i + 2] - 1) * window.strides[i] + span + more[i] - x[i + 2]);
    window.pads_begin[i] = begins_with_less ? all / 2 : all - all / 2;
    window.pads_end[i] = all - window.pads_begin[i];
  }
  return window;
}

namespace {

Recipe max_pool(const OperatorView& view) {
  const Shape& x = view.is_gradient() ? view.out(0).shape : view.in(0).shape;
  OperatorSpec spec{.kind = OperatorKind::kMaxPool,
                    .window = window_of(view, view.op().integers("kernel_shape"), x,
                                        view.result_shape())};
  const std::size_t indices = view.is_gradient() ? view.y(1) : 1;
  if (view.is_gradient() ? !view.has_input(indices) : !view.has_output(indices))
    view.refuse("its indices are not kept");
  if (!view.is_gradient()) return {{{spec, {input(0)}, {output(0), output(1)}}}};
  spec.kind = OperatorKind::kMaxPoolBackward;
  return {{{spec, {input(indices), input(view.g())}, {output(0)}}}};
}

Recipe average_pool(const OperatorView& view, bool global) {
  const Shape& x = view.is_gradient() ? view.out(0).shape : view.in(0).shape;
  const Shape kernel =
      global ? Shape(x.begin() + 2, x.end()) : view.op().integers("kernel_shape");
  OperatorSpec spec{.kind = OperatorKind::kAveragePool,
                    .window = window_of(view, kernel, x, view.result_shape())};
  if (!view.is_gradient()) return {{{spec, {input(0)}, {output(0)}}}};
  spec.kind = OperatorKind::kAveragePoolBackward;
  return {{{spec, {input(view.g())}, {output(0)}}}};
}

Recipe peak(const OperatorView& view) {
  if (!view.is_gradient())
    return {{{{.kind = OperatorKind::kPeak}, {input(0)}, {output(0)}}}};
  return {{{{.kind = OperatorKind::kPeakBackward},
            {input(view.x(0)), input(view.y(0)), input(view.g())},
            {output(0)}}}};
}

}  // namespace

std::optional<Recipe> pooling_recipe(const OperatorView& view) {
  const std::string& type = view.op().type;
  if (type == "MaxPool" || type == "MaxPoolGrad") return max_pool(view);
  if (type == "AveragePool" || type == "AveragePoolGrad")
    return average_pool(view, false);
  if (type == "GlobalAveragePool" || type == "GlobalAveragePoolGrad")
    return average_pool(view, true);
  if (type == "GlobalMaxPool" || type == "GlobalMaxPoolGrad") return peak(view);
  return std::nullopt;
}

}  // namespace espalier::training
