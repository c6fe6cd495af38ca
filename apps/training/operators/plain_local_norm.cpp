// LRN over windows of even size, which oneDNN takes for one less.

#include <algorithm>
#include <cmath>

#include "training/operators/function_kernel.h"
#include "training/operators/instantiate.h"
#include "training/operators/plain_kernels.h"

namespace espalier::training {
namespace {

// The channels at one position of a sample, and which of them are summed up for one:
//   y_c = x_c s_c^-beta,  s_c = bias + alpha / size Σ x_j²,
//   j from c - ⌊(size - 1) / 2⌋ to c + ⌈(size - 1) / 2⌉.
struct ChannelLines {
  std::int64_t samples = 0, channels = 0, points = 0, before = 0, after = 0;
  double factor = 0, bias = 0, beta = 0;

  ChannelLines(const OperatorSpec& spec, const TensorShape& x)
      : samples(x.dim(0)),
        channels(x.dim(1)),
        before((spec.size - 1) / 2),
        after(spec.size / 2),
        factor(spec.alpha / static_cast<double>(spec.size)),
        bias(spec.bias),
        beta(spec.beta) {
    const std::int64_t all = samples * channels;
    points = all == 0 ? 0 : x.elements() / all;
  }
  [[nodiscard]] std::int64_t first(std::int64_t line) const {
    return line / points * channels * points + line % points;
  }
  /// s_c of the channels that begin at x.
  template <class T>
  [[nodiscard]] double sum(const T* x, std::int64_t c) const {
    double squares = 0;
    const std::int64_t last = std::min(channels - 1, c + after);
    for (std::int64_t j = std::max<std::int64_t>(0, c - before); j <= last; ++j)
      squares += static_cast<double>(x[j * points]) * x[j * points];
    return bias + factor * squares;
  }
};

template <class T>
std::unique_ptr<Kernel> even_local_norm(const OperatorSpec& spec,
                                        const KernelTensors& tensors) {
  const ChannelLines of(spec, tensors.input(0));
  return kernel_of([of](const KernelCall& call) {
#pragma omp parallel for if (of.samples * of.channels * of.points >= kWorthThreads)
    for (std::int64_t line = 0; line < of.samples * of.points; ++line) {
      const T* const x = read<T>(call, 0) + of.first(line);
      T* const y = write<T>(call, 0) + of.first(line);
      for (std::int64_t c = 0; c < of.channels; ++c)
        y[c * of.points] =
            static_cast<T>(x[c * of.points] * std::pow(of.sum(x, c), -of.beta));
    }
  });
}

// dx_c = g_c s_c^-beta - 2 beta alpha / size x_c Σ_j g_j x_j s_j^(-beta-1), over the j in
// whose windows c is.
template <class T>
std::unique_ptr<Kernel> even_local_norm_backward(const OperatorSpec& spec,
                                                 const KernelTensors& tensors) {
  const ChannelLines of(spec, tensors.input(0));
  return kernel_of([of](const KernelCall& call) {
#pragma omp parallel for if (of.samples * of.channels * of.points >= kWorthThreads)
    for (std::int64_t line = 0; line < of.samples * of.points; ++line) {
      const T* const x = read<T>(call, 0) + of.first(line);
      const T* const g = read<T>(call, 1) + of.first(line);
      T* const dx = write<T>(call, 0) + of.first(line);
      for (std::int64_t c = 0; c < of.channels; ++c) {
        double through = 0;
        const std::int64_t last = std::min(of.channels - 1, c + of.before);
        for (std::int64_t j = std::max<std::int64_t>(0, c - of.after); j <= last; ++j)
          through += static_cast<double>(g[j * of.points]) * x[j * of.points] *
                     std::pow(of.sum(x, j), -of.beta - 1);
        dx[c * of.points] =
            static_cast<T>(g[c * of.points] * std::pow(of.sum(x, c), -of.beta) -
                           2 * of.beta * of.factor * x[c * of.points] * through);
      }
    }
  });
}

}  // namespace

template <class T>
std::unique_ptr<Kernel> make_plain_local_norm(const OperatorSpec& spec,
                                              const KernelTensors& tensors) {
  if (spec.kind == OperatorKind::kLocalNorm) return even_local_norm<T>(spec, tensors);
  if (spec.kind == OperatorKind::kLocalNormBackward)
    return even_local_norm_backward<T>(spec, tensors);
  return nullptr;
}

ESPALIER_FOR_REAL_ELEMENTS(make_plain_local_norm)

}  // namespace espalier::training
