// Choices between tensors: Where, Max, Min, and their gradients.

#include <algorithm>

#include "espalier/model/error.h"
#include "training/operators/function_kernel.h"
#include "training/operators/instantiate.h"
#include "training/operators/plain_kernels.h"
#include "training/operators/strided.h"

namespace espalier::training {
namespace {

template <class T>
std::unique_ptr<Kernel> where(const KernelTensors& tensors) {
  const auto dims = tensors.output(0).dims;
  const Strided mask = broadcast_strides(tensors.input(0).dims, dims);
  const Strided a = broadcast_strides(tensors.input(1).dims, dims);
  const Strided b = broadcast_strides(tensors.input(2).dims, dims);
  return kernel_of([=](const KernelCall& call) {
    const auto* const chosen = read<std::uint8_t>(call, 0);
    for (const bool first : {true, false}) {
      const T* const from = read<T>(call, first ? 1 : 2);
      T* y = write<T>(call, 0);
      for_each_element(dims, mask, first ? a : b, [&](std::int64_t i, std::int64_t j) {
        if ((chosen[i] != 0) == first) *y = from[j];
        ++y;
      });
    }
  });
}

// A NaN is chosen, so that it is seen.
template <class T>
std::unique_ptr<Kernel> extreme(const OperatorSpec& spec, const KernelTensors& tensors) {
  if (tensors.inputs.size() > 255) throw InvalidInput("of more than 255 tensors");
  const auto dims = tensors.output(0).dims;
  const Strided to = plain_strides(dims);
  std::vector<Strided> from;
  for (std::size_t i = 0; i < tensors.inputs.size(); ++i)
    from.push_back(broadcast_strides(tensors.input(i).dims, dims));
  return kernel_of([=, maximum = spec.binary == BinaryFunction::kMaximum,
                    keeps = tensors.has_output(1)](const KernelCall& call) {
    T* const y = write<T>(call, 0);
    auto* const choice = keeps ? write<std::uint8_t>(call, 1) : nullptr;
    for (std::size_t k = 0; k < from.size(); ++k) {
      const T* const x = read<T>(call, k);
      for_each_element(dims, from[k], to, [&](std::int64_t i, std::int64_t j) {
        const T value = x[i];
        const bool wins =
            k == 0 || value != value || (maximum ? value > y[j] : value < y[j]);
        if (!wins) return;
        y[j] = value;
        if (choice != nullptr) choice[j] = static_cast<std::uint8_t>(k);
      });
    }
  });
}

template <class T>
std::unique_ptr<Kernel> chosen(const OperatorSpec& spec, const KernelTensors& tensors) {
  const auto dims = tensors.output(0).dims;
  const Strided mask = broadcast_strides(tensors.input(0).dims, dims);
  const Strided to = plain_strides(dims);
  return kernel_of([=, wanted = spec.axis](const KernelCall& call) {
    const auto* const choice = read<std::uint8_t>(call, 0);
    const T* const g = read<T>(call, 1);
    T* const dx = write<T>(call, 0);
    for_each_element(dims, mask, to, [&](std::int64_t i, std::int64_t j) {
      dx[j] = choice[i] == wanted ? g[j] : T(0);
    });
  });
}

// Rows: all elements of a channel of a sample.
std::int64_t row_length(const TensorShape& x, const TensorShape& y) {
  return x.elements() / std::max<std::int64_t>(1, y.elements());
}

template <class T>
std::unique_ptr<Kernel> peak(const KernelTensors& tensors) {
  const std::int64_t rows = tensors.output(0).elements();
  const std::int64_t length = row_length(tensors.input(0), tensors.output(0));
  return kernel_of([=](const KernelCall& call) {
    const T* const x = read<T>(call, 0);
    for (std::int64_t i = 0; i < rows; ++i)
      write<T>(call, 0)[i] = *std::max_element(x + i * length, x + (i + 1) * length);
  });
}

template <class T>
std::unique_ptr<Kernel> peak_backward(const KernelTensors& tensors) {
  const std::int64_t rows = tensors.input(1).elements();
  const std::int64_t length = row_length(tensors.input(0), tensors.input(1));
  return kernel_of([=](const KernelCall& call) {
    const T *const x = read<T>(call, 0), *const y = read<T>(call, 1);
    T* const dx = write<T>(call, 0);
    std::fill_n(dx, rows * length, T(0));
    for (std::int64_t i = 0; i < rows; ++i) {
      const T* const row = x + i * length;
      const auto at = std::find(row, row + length, y[i]) - row;
      if (at < length) dx[i * length + at] = read<T>(call, 2)[i];
    }
  });
}

}  // namespace

template <class T>
std::unique_ptr<Kernel> make_plain_select(const OperatorSpec& spec,
                                          const KernelTensors& tensors) {
  switch (spec.kind) {
    case OperatorKind::kWhere:
      return where<T>(tensors);
    case OperatorKind::kExtreme:
      return extreme<T>(spec, tensors);
    case OperatorKind::kChosen:
      return chosen<T>(spec, tensors);
    case OperatorKind::kPeak:
      return peak<T>(tensors);
    case OperatorKind::kPeakBackward:
      return peak_backward<T>(tensors);
    default:
      return nullptr;
  }
}

ESPALIER_FOR_ALL_ELEMENTS(make_plain_select)

}  // namespace espalier::training
