#include <algorithm>
#include <limits>
#include <vector>

#include "training/operators/function_kernel.h"
#include "training/operators/reference_kernels.h"
#include "training/operators/window_points.h"

namespace espalier::training {
namespace {

// Indices count the points of the window, in as many bytes as the plan gives each.
std::unique_ptr<Kernel> max_pool(const OperatorSpec& spec, const KernelTensors& tensors) {
  const TensorShape x = tensors.input(0), y = tensors.output(0);
  return kernel_of([=, window = spec.window](const KernelCall& call) {
    auto* const indices = write<std::uint8_t>(call, 1);
    double* const to = write<double>(call, 0);
    std::fill_n(to, y.elements(), -std::numeric_limits<double>::infinity());
    for (std::int64_t c = 0; c < x.dim(0) * x.dim(1); ++c)
      for_each_window_point(
          window, x, y, [&](std::int64_t point, std::int64_t at, std::int64_t place) {
            const double value = read<double>(call, 0)[c * points_of(x) + at];
            double& most = to[c * points_of(y) + place];
            if (value <= most) return;
            most = value;
            indices[c * points_of(y) + place] = static_cast<std::uint8_t>(point);
          });
  });
}

std::unique_ptr<Kernel> max_pool_backward(const OperatorSpec& spec,
                                          const KernelTensors& tensors) {
  const TensorShape x = tensors.output(0), y = tensors.input(1);
  return kernel_of([=, window = spec.window](const KernelCall& call) {
    const auto* const indices = read<std::uint8_t>(call, 0);
    double* const dx = write<double>(call, 0);
    std::fill_n(dx, x.elements(), 0.0);
    for (std::int64_t c = 0; c < x.dim(0) * x.dim(1); ++c)
      for_each_window_point(window, x, y,
                            [&](std::int64_t point, std::int64_t at, std::int64_t place) {
                              const std::int64_t from = c * points_of(y) + place;
                              if (indices[from] == point)
                                dx[c * points_of(x) + at] += read<double>(call, 1)[from];
                            });
  });
}

// By what the windows of a channel divide.
std::vector<double> divisors(const Window& window, const TensorShape& x,
                             const TensorShape& y) {
  std::vector<double> points(static_cast<std::size_t>(points_of(y)), 0);
  for_each_window_point(window, x, y,
                        [&](std::int64_t, std::int64_t, std::int64_t place) {
                          points[static_cast<std::size_t>(place)] += 1;
                        });
  double whole = 1;
  for (const std::int64_t size : window.kernel) whole *= static_cast<double>(size);
  if (window.count_padding) std::ranges::fill(points, whole);
  return points;
}

std::unique_ptr<Kernel> average_pool(const OperatorSpec& spec,
                                     const KernelTensors& tensors) {
  const TensorShape x = tensors.input(0), y = tensors.output(0);
  return kernel_of([=, window = spec.window](const KernelCall& call) {
    const std::vector<double> by = divisors(window, x, y);
    double* const to = write<double>(call, 0);
    std::fill_n(to, y.elements(), 0.0);
    for (std::int64_t c = 0; c < x.dim(0) * x.dim(1); ++c)
      for_each_window_point(
          window, x, y, [&](std::int64_t, std::int64_t at, std::int64_t place) {
            to[c * points_of(y) + place] += read<double>(call, 0)[c * points_of(x) + at] /
                                            by[static_cast<std::size_t>(place)];
          });
  });
}

std::unique_ptr<Kernel> average_pool_backward(const OperatorSpec& spec,
                                              const KernelTensors& tensors) {
  const TensorShape x = tensors.output(0), y = tensors.input(0);
  return kernel_of([=, window = spec.window](const KernelCall& call) {
    const std::vector<double> by = divisors(window, x, y);
    double* const dx = write<double>(call, 0);
    std::fill_n(dx, x.elements(), 0.0);
    for (std::int64_t c = 0; c < x.dim(0) * x.dim(1); ++c)
      for_each_window_point(
          window, x, y, [&](std::int64_t, std::int64_t at, std::int64_t place) {
            dx[c * points_of(x) + at] += read<double>(call, 0)[c * points_of(y) + place] /
                                         by[static_cast<std::size_t>(place)];
          });
  });
}

}  // namespace

std::unique_ptr<Kernel> make_reference_pooling(const OperatorSpec& spec,
                                               const KernelTensors& tensors) {
  switch (spec.kind) {
    case OperatorKind::kMaxPool:
      return max_pool(spec, tensors);
    case OperatorKind::kMaxPoolBackward:
      return max_pool_backward(spec, tensors);
    case OperatorKind::kAveragePool:
      return average_pool(spec, tensors);
    case OperatorKind::kAveragePoolBackward:
      return average_pool_backward(spec, tensors);
    default:
      return nullptr;
  }
}

}  // namespace espalier::training
