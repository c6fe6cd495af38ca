#include <algorithm>
#include <vector>

#include "training/operators/function_kernel.h"
#include "training/operators/matmul_shape.h"
#include "training/operators/reference_kernels.h"
#include "training/operators/window_points.h"

namespace espalier::training {
namespace {

// Calls visit(place of w, place of x, place of y) for every product of a convolution.
template <class Visit>
void for_each_product(const Window& window, const TensorShape& x, const TensorShape& w,
                      const TensorShape& y, const Visit& visit) {
  const std::int64_t in = x.dim(1), out = y.dim(1);
  const std::int64_t in_group = in / window.groups, out_group = out / window.groups;
  const std::int64_t x_points = points_of(x), y_points = points_of(y);
  const std::int64_t w_points = points_of(w);
  struct Places {
    std::int64_t w, x, y;
  };
  std::vector<Places> places;  // of one channel of each: the same for all
  for_each_window_point(window, x, y,
                        [&](std::int64_t k, std::int64_t at, std::int64_t place) {
                          places.push_back({k, at, place});
                        });
  for (std::int64_t n = 0; n < x.dim(0); ++n)
    for (std::int64_t o = 0; o < out; ++o)
      for (std::int64_t i = 0; i < in_group; ++i) {
        const std::int64_t from = (n * in + o / out_group * in_group + i) * x_points;
        const std::int64_t to = (n * out + o) * y_points;
        const std::int64_t weights = (o * in_group + i) * w_points;
        for (const Places& at : places) visit(weights + at.w, from + at.x, to + at.y);
      }
}

std::unique_ptr<Kernel> convolution(const OperatorSpec& spec,
                                    const KernelTensors& tensors) {
  const TensorShape x = tensors.input(0), w = tensors.input(1), y = tensors.output(0);
  return kernel_of(
      [=, window = spec.window, bias = tensors.has_input(2)](const KernelCall& call) {
        const double *const in = read<double>(call, 0), *const weights =
                                                            read<double>(call, 1);
        double* const out = write<double>(call, 0);
        for (std::int64_t i = 0; i < y.elements(); ++i)
          out[i] = bias ? read<double>(call, 2)[i / points_of(y) % y.dim(1)] : 0;
        for_each_product(window, x, w, y,
                         [&](std::int64_t at_w, std::int64_t at_x, std::int64_t at_y) {
                           out[at_y] += weights[at_w] * in[at_x];
                         });
      });
}

std::unique_ptr<Kernel> backward_data(const OperatorSpec& spec,
                                      const KernelTensors& tensors) {
  const TensorShape y = tensors.input(0), w = tensors.input(1), x = tensors.output(0);
  return kernel_of([=, window = spec.window](const KernelCall& call) {
    const double *const g = read<double>(call, 0), *const weights = read<double>(call, 1);
    double* const dx = write<double>(call, 0);
    std::fill_n(dx, x.elements(), 0.0);
    for_each_product(window, x, w, y,
                     [&](std::int64_t at_w, std::int64_t at_x, std::int64_t at_y) {
                       dx[at_x] += weights[at_w] * g[at_y];
                     });
  });
}

std::unique_ptr<Kernel> backward_weights(const OperatorSpec& spec,
                                         const KernelTensors& tensors) {
  const TensorShape x = tensors.input(0), y = tensors.input(1), w = tensors.output(0);
  return kernel_of(
      [=, window = spec.window, bias = tensors.has_output(1)](const KernelCall& call) {
        const double *const in = read<double>(call, 0), *const g = read<double>(call, 1);
        double* const dw = write<double>(call, 0);
        std::fill_n(dw, w.elements(), 0.0);
        for_each_product(window, x, w, y,
                         [&](std::int64_t at_w, std::int64_t at_x, std::int64_t at_y) {
                           dw[at_w] += in[at_x] * g[at_y];
                         });
        if (!bias) return;
        double* const db = write<double>(call, 1);
        std::fill_n(db, y.dim(1), 0.0);
        for (std::int64_t i = 0; i < y.elements(); ++i)
          db[i / points_of(y) % y.dim(1)] += g[i];
      });
}

// One matrix product; c is added by the caller.
struct Matrices {
  const double *a, *b;
  double* y;
};
void multiply(const MatMulShape& shape, double alpha, const Matrices& of) {
  for (std::int64_t i = 0; i < shape.m; ++i)
    for (std::int64_t j = 0; j < shape.n; ++j) {
      double sum = 0;
      for (std::int64_t p = 0; p < shape.k; ++p)
        sum += of.a[shape.transpose_a ? p * shape.m + i : i * shape.k + p] *
               of.b[shape.transpose_b ? j * shape.k + p : p * shape.n + j];
      of.y[i * shape.n + j] = alpha * sum;
    }
}

std::unique_ptr<Kernel> matmul(const OperatorSpec& spec, const KernelTensors& tensors) {
  const MatMulShape shape = matmul_shape(spec, tensors);
  return kernel_of([=, alpha = spec.alpha](const KernelCall& call) {
    const double *const a = read<double>(call, 0), *const b = read<double>(call, 1);
    double* const y = write<double>(call, 0);
    const Strided from_a = broadcast_strides(shape.a_batch, shape.y_batch);
    const Strided from_b = broadcast_strides(shape.b_batch, shape.y_batch);
    std::int64_t batch = 0;
    for_each_element(
        shape.y_batch, from_a, from_b, [&](std::int64_t in_a, std::int64_t in_b) {
          multiply(shape, alpha,
                   {a + in_a * shape.m * shape.k, b + in_b * shape.k * shape.n,
                    y + batch++ * shape.m * shape.n});
        });
    if (shape.c_dims.empty()) return;
    auto dims = shape.y_batch;
    dims.insert(dims.end(), {shape.m, shape.n});
    const double* const c = read<double>(call, 2);
    for_each_element(dims, broadcast_strides(shape.c_dims, dims), plain_strides(dims),
                     [&](std::int64_t i, std::int64_t j) { y[j] += c[i]; });
  });
}

}  // namespace

std::unique_ptr<Kernel> make_reference_linear(const OperatorSpec& spec,
                                              const KernelTensors& tensors) {
  switch (spec.kind) {
    case OperatorKind::kConvolution:
      return convolution(spec, tensors);
    case OperatorKind::kConvolutionBackwardData:
      return backward_data(spec, tensors);
    case OperatorKind::kConvolutionBackwardWeights:
      return backward_weights(spec, tensors);
    case OperatorKind::kMatMul:
      return matmul(spec, tensors);
    default:
      return nullptr;
  }
}

}  // namespace espalier::training
