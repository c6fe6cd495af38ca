// Normalisation of groups of channels, which oneDNN 2 has no primitive for.

#include <cmath>

#include "espalier/model/error.h"
#include "training/operators/function_kernel.h"
#include "training/operators/instantiate.h"
#include "training/operators/plain_kernels.h"

namespace espalier::training {
namespace {

// x: samples of `groups` rows of `channels` channels of `points` elements. Scale and bias
// are of a channel, or of a row.
struct GroupRows {
  std::int64_t samples = 0, groups = 0, channels = 0, points = 0;
  bool by_channel = true;

  GroupRows(const OperatorSpec& spec, const TensorShape& x, const TensorShape& scale)
      : samples(x.dim(0)), groups(spec.size > 0 ? spec.size : x.dim(1)) {
    if (groups < 1 || x.dim(1) % groups != 0)
      throw InvalidInput("its groups do not divide the channels");
    channels = x.dim(1) / groups;
    points = samples * x.dim(1) == 0 ? 0 : x.elements() / (samples * x.dim(1));
    by_channel = scale.elements() == x.dim(1);
    if (!by_channel && scale.elements() != groups)
      throw InvalidInput("its scale is neither of channels nor of groups");
  }
  [[nodiscard]] std::int64_t rows() const { return samples * groups; }
  [[nodiscard]] std::int64_t length() const { return channels * points; }
  /// The scale of element i of a row.
  [[nodiscard]] std::int64_t affine(std::int64_t row, std::int64_t i) const {
    const std::int64_t group = row % groups;
    return by_channel ? group * channels + i / points : group;
  }
};

template <class T>
std::unique_ptr<Kernel> group_norm(const OperatorSpec& spec,
                                   const KernelTensors& tensors) {
  const GroupRows of(spec, tensors.input(0), tensors.input(1));
  return kernel_of([of, epsilon = spec.epsilon](const KernelCall& call) {
    const T *const scale = read<T>(call, 1), *const bias = read<T>(call, 2);
#pragma omp parallel for if (of.rows() * of.length() >= kWorthThreads)
    for (std::int64_t row = 0; row < of.rows(); ++row) {
      const T* const x = read<T>(call, 0) + row * of.length();
      T* const y = write<T>(call, 0) + row * of.length();
      double sum = 0, squares = 0;
      for (std::int64_t i = 0; i < of.length(); ++i) sum += x[i];
      const double mean = sum / static_cast<double>(of.length());
      for (std::int64_t i = 0; i < of.length(); ++i)
        squares += (x[i] - mean) * (x[i] - mean);
      const double variance = squares / static_cast<double>(of.length());
      const double inverse = 1 / std::sqrt(variance + epsilon);
      for (std::int64_t i = 0; i < of.length(); ++i) {
        const std::int64_t at = of.affine(row, i);
        y[i] = static_cast<T>((x[i] - mean) * inverse * scale[at] + bias[at]);
      }
      write<T>(call, 1)[row] = static_cast<T>(mean);
      write<T>(call, 2)[row] = static_cast<T>(inverse);
    }
  });
}

// With n = (x - mean) inverse and h = g scale, over the elements of a row:
//   dx = inverse (h - mean of h - n mean of h n);  dscale = Σ g n;  dbias = Σ g.
template <class T>
std::unique_ptr<Kernel> group_norm_backward(const OperatorSpec& spec,
                                            const KernelTensors& tensors) {
  const GroupRows of(spec, tensors.input(0), tensors.input(1));
  const std::int64_t affine = tensors.input(1).elements();
  return kernel_of([of, affine](const KernelCall& call) {
    const T* const scale = read<T>(call, 1);
    T *const dscale = write<T>(call, 1), *const dbias = write<T>(call, 2);
    std::fill_n(dscale, affine, T(0));
    std::fill_n(dbias, affine, T(0));
    for (std::int64_t row = 0; row < of.rows(); ++row) {
      const T* const x = read<T>(call, 0) + row * of.length();
      const T* const g = read<T>(call, 4) + row * of.length();
      T* const dx = write<T>(call, 0) + row * of.length();
      const double mean = read<T>(call, 2)[row], inverse = read<T>(call, 3)[row];
      double sum = 0, product = 0;
      for (std::int64_t i = 0; i < of.length(); ++i) {
        const std::int64_t at = of.affine(row, i);
        const double n = (x[i] - mean) * inverse;
        const double h = static_cast<double>(g[i]) * scale[at];
        sum += h;
        product += h * n;
        dscale[at] += static_cast<T>(g[i] * n);
        dbias[at] += g[i];
      }
      sum /= static_cast<double>(of.length());
      product /= static_cast<double>(of.length());
      for (std::int64_t i = 0; i < of.length(); ++i)
        dx[i] = static_cast<T>(inverse *
                               (static_cast<double>(g[i]) * scale[of.affine(row, i)] -
                                sum - (x[i] - mean) * inverse * product));
    }
  });
}

}  // namespace

template <class T>
std::unique_ptr<Kernel> make_plain_group_norm(const OperatorSpec& spec,
                                              const KernelTensors& tensors) {
  if (spec.kind == OperatorKind::kGroupNorm) return group_norm<T>(spec, tensors);
  if (spec.kind == OperatorKind::kGroupNormBackward)
    return group_norm_backward<T>(spec, tensors);
  return nullptr;
}

ESPALIER_FOR_REAL_ELEMENTS(make_plain_group_norm)

}  // namespace espalier::training
