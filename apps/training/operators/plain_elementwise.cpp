#include <algorithm>
#include <cmath>
#include <type_traits>

#include "espalier/model/error.h"
#include "training/operators/function_kernel.h"
#include "training/operators/instantiate.h"
#include "training/operators/plain_kernels.h"
#include "training/operators/strided.h"

namespace espalier::training {
namespace {

template <class T>
T apply(BinaryFunction function, T a, T b) {
  switch (function) {
    case BinaryFunction::kAdd:
      return a + b;
    case BinaryFunction::kSubtract:
      return a - b;
    case BinaryFunction::kMultiply:
      return a * b;
    default:
      return a / b;
  }
}

template <class T>
std::unique_ptr<Kernel> binary(const OperatorSpec& spec, const KernelTensors& tensors) {
  if (spec.binary > BinaryFunction::kDivide)
    throw InvalidInput("a maximum keeps its choice: kExtreme");
  const auto dims = tensors.output(0).dims;
  const Strided a = broadcast_strides(tensors.input(0).dims, dims);
  const Strided b = broadcast_strides(tensors.input(1).dims, dims);
  return kernel_of([=, function = spec.binary](const KernelCall& call) {
    const T *const left = read<T>(call, 0), *const right = read<T>(call, 1);
    T* y = write<T>(call, 0);
    for_each_element(dims, a, b, [&](std::int64_t i, std::int64_t j) {
      *y++ = apply(function, left[i], right[j]);
    });
  });
}

// alpha times the sums of columns. Rows are added in groups, whose sums are added then:
// fewer roundings, and the same sum for any number of threads.
template <class T>
std::unique_ptr<Kernel> column_sums(const OperatorSpec& spec,
                                    const KernelTensors& tensors) {
  constexpr std::int64_t kWidth = 64, kGroup = 32;
  const std::int64_t columns = tensors.output(0).elements();
  const std::int64_t count = tensors.input(0).elements();
  const std::int64_t rows = columns == 0 ? 0 : count / columns;
  return kernel_of([=, alpha = static_cast<T>(spec.alpha)](const KernelCall& call) {
    const T* const x = read<T>(call, 0);
    T* const y = write<T>(call, 0);
#pragma omp parallel for if (count >= kWorthThreads)
    for (std::int64_t first = 0; first < columns; first += kWidth) {
      const std::int64_t width = std::min(kWidth, columns - first);
      T sums[kWidth] = {};
      for (std::int64_t row = 0; row < rows; row += kGroup) {
        T group[kWidth] = {};
        for (std::int64_t i = row; i < std::min(rows, row + kGroup); ++i)
          for (std::int64_t j = 0; j < width; ++j) group[j] += x[i * columns + first + j];
        for (std::int64_t j = 0; j < width; ++j) sums[j] += group[j];
      }
      for (std::int64_t j = 0; j < width; ++j) y[first + j] = alpha * sums[j];
    }
  });
}

// A random number of 64 bits for each place, the same whatever runs when [SplitMix64].
std::uint64_t mix(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

template <class T>
std::unique_ptr<Kernel> dropout(const OperatorSpec& spec, const KernelTensors& tensors) {
  const std::int64_t count = tensors.input(0).elements();
  const double p = spec.probability;
  if (!(p >= 0 && p < 1)) throw InvalidInput("the probability to drop is not in [0, 1)");
  const auto limit = static_cast<std::uint64_t>(p * 0x1p53);
  const ElementRuns places = spec.places;
  const std::int64_t run = places.run == 0 ? count : places.run;
  return kernel_of([=, stream = spec.stream](const KernelCall& call) {
    const T* const x = read<T>(call, 0);
    T* const y = write<T>(call, 0);
    auto* const mask = write<std::uint8_t>(call, 1);
    const std::uint64_t key =
        mix(call.seed ^ mix(stream ^ mix(static_cast<std::uint64_t>(call.step))));
    const T scale = static_cast<T>(1 / (1 - p));
#pragma omp parallel for collapse(2) if (count >= kWorthThreads)
    for (std::int64_t first = 0; first < count; first += run)
      for (std::int64_t j = 0; j < run; ++j) {
        const std::int64_t i = first + j;
        const std::uint64_t place = static_cast<std::uint64_t>(places.place(first) + j);
        const bool kept = (mix(key + place) >> 11) >= limit;
        mask[i] = kept ? 1 : 0;
        y[i] = kept ? scale * x[i] : T(0);
      }
  });
}

template <class T>
std::unique_ptr<Kernel> dropout_backward(const OperatorSpec& spec,
                                         const KernelTensors& tensors) {
  const std::int64_t count = tensors.output(0).elements();
  const T scale = static_cast<T>(1 / (1 - spec.probability));
  return kernel_of([=](const KernelCall& call) {
    const auto* const mask = read<std::uint8_t>(call, 0);
    const T* const g = read<T>(call, 1);
    T* const dx = write<T>(call, 0);
#pragma omp parallel for if (count >= kWorthThreads)
    for (std::int64_t i = 0; i < count; ++i) dx[i] = mask[i] ? scale * g[i] : T(0);
  });
}

// The softmax of row i sees columns up to i, and more where there are more columns.
std::int64_t seen_by(std::int64_t line, std::int64_t rows, std::int64_t columns) {
  return std::clamp<std::int64_t>(line % rows + 1 + columns - rows, 1, columns);
}

template <class T>
std::unique_ptr<Kernel> causal_softmax(const OperatorSpec& spec,
                                       const KernelTensors& tensors) {
  const TensorShape& x = tensors.input(0);
  const std::int64_t columns = x.dim(-1), rows = x.dim(-2), count = x.elements();
  return kernel_of([=, scale = static_cast<T>(spec.alpha)](const KernelCall& call) {
    const T* const from = read<T>(call, 0);
    T* const to = write<T>(call, 0);
#pragma omp parallel for if (count >= kWorthThreads)
    for (std::int64_t line = 0; line < count / columns; ++line) {
      const T* const in = from + line * columns;
      T* const out = to + line * columns;
      const std::int64_t seen = seen_by(line, rows, columns);
      const T most =
          scale > 0 ? *std::max_element(in, in + seen) : *std::min_element(in, in + seen);
      T sum = 0;
      for (std::int64_t j = 0; j < seen; ++j)
        sum += out[j] = std::exp(scale * (in[j] - most));
      for (std::int64_t j = 0; j < seen; ++j) out[j] /= sum;
      std::fill(out + seen, out + columns, T(0));
    }
  });
}

template <class T>
std::unique_ptr<Kernel> causal_softmax_backward(const OperatorSpec& spec,
                                                const KernelTensors& tensors) {
  const TensorShape& y = tensors.input(0);
  const std::int64_t columns = y.dim(-1), count = y.elements();
  return kernel_of([=, scale = static_cast<T>(spec.alpha)](const KernelCall& call) {
    const T *const result = read<T>(call, 0), *const gradient = read<T>(call, 1);
    T* const to = write<T>(call, 0);
#pragma omp parallel for if (count >= kWorthThreads)
    for (std::int64_t line = 0; line < count / columns; ++line) {
      const T *const p = result + line * columns, *const g = gradient + line * columns;
      T sum = 0;
      for (std::int64_t j = 0; j < columns; ++j) sum += p[j] * g[j];
      for (std::int64_t j = 0; j < columns; ++j)
        to[line * columns + j] = scale * p[j] * (g[j] - sum);
    }
  });
}

}  // namespace

template <class T>
std::unique_ptr<Kernel> make_whole_binary(const OperatorSpec& spec,
                                          const KernelTensors& tensors) {
  // Without a sign: what is too large wraps around.
  return binary<std::make_unsigned_t<T>>(spec, tensors);
}
ESPALIER_FOR_ELEMENT(make_whole_binary, std::int64_t)
ESPALIER_FOR_ELEMENT(make_whole_binary, std::int32_t)

bool sums_columns(const KernelTensors& tensors) {
  const TensorShape &x = tensors.input(0), &y = tensors.output(0);
  if (x.format != TensorFormat::kPlain || y.format != TensorFormat::kPlain) return false;
  if (y.elements() < 16) return false;
  const auto kept = std::find_if(y.dims.begin(), y.dims.end(),
                                 [](std::int64_t dim) { return dim != 1; });
  const auto count = y.dims.end() - kept;
  return count <= std::ssize(x.dims) &&
         std::equal(kept, y.dims.end(), x.dims.end() - count);
}

template <class T>
std::unique_ptr<Kernel> make_plain_elementwise(const OperatorSpec& spec,
                                               const KernelTensors& tensors) {
  switch (spec.kind) {
    case OperatorKind::kBinary:
      return binary<T>(spec, tensors);
    case OperatorKind::kReduce:
      return sums_columns(tensors) ? column_sums<T>(spec, tensors) : nullptr;
    case OperatorKind::kDropout:
      return dropout<T>(spec, tensors);
    case OperatorKind::kDropoutBackward:
      return dropout_backward<T>(spec, tensors);
    case OperatorKind::kCausalSoftmax:
      return causal_softmax<T>(spec, tensors);
    case OperatorKind::kCausalSoftmaxBackward:
      return causal_softmax_backward<T>(spec, tensors);
    default:
      return nullptr;
  }
}

ESPALIER_FOR_REAL_ELEMENTS(make_plain_elementwise)

}  // namespace espalier::training
