#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "espalier/model/error.h"
#include "training/operators/element_types.h"
#include "training/operators/function_kernel.h"
#include "training/operators/instantiate.h"
#include "training/operators/plain_kernels.h"
#include "training/operators/strided.h"

namespace espalier::training {
namespace {

// What is no number of the new type is its limit; NaN is 0.
template <class To, class From>
To cast_element(From x) {
  if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    using Limits = std::numeric_limits<To>;
    if (std::isnan(x)) return 0;
    if (x <= static_cast<From>(Limits::min())) return Limits::min();
    if (x >= static_cast<From>(Limits::max())) return Limits::max();
  }
  return static_cast<To>(x);
}

// The box of x that a slice with `spec.starts` and `spec.steps` sees.
Strided slice_of(const OperatorSpec& spec, const TensorShape& x) {
  Strided slice = plain_strides(x.dims);
  for (std::size_t i = 0; i < x.dims.size(); ++i) {
    slice.offset += spec.starts.at(i) * slice.strides[i];
    slice.strides[i] *= spec.steps.at(i);
  }
  return slice;
}

template <class T>
std::unique_ptr<Kernel> slice(const OperatorSpec& spec, const KernelTensors& tensors) {
  const auto dims = tensors.output(0).dims;
  const Strided from = slice_of(spec, tensors.input(0)), to = plain_strides(dims);
  return kernel_of([=](const KernelCall& call) {
    const T* const x = read<T>(call, 0);
    T* const y = write<T>(call, 0);
    for_each_element(dims, from, to,
                     [&](std::int64_t i, std::int64_t j) { y[j] = x[i]; });
  });
}

template <class T>
std::unique_ptr<Kernel> slice_backward(const OperatorSpec& spec,
                                       const KernelTensors& tensors) {
  const auto dims = tensors.input(0).dims;
  const Strided from = plain_strides(dims), to = slice_of(spec, tensors.output(0));
  const std::int64_t count = tensors.output(0).elements();
  return kernel_of([=](const KernelCall& call) {
    const T* const g = read<T>(call, 0);
    T* const dx = write<T>(call, 0);
    std::fill_n(dx, count, T(0));
    for_each_element(dims, from, to,
                     [&](std::int64_t i, std::int64_t j) { dx[j] = g[i]; });
  });
}

// The part of x that is inside y, in both.
template <class T>
std::unique_ptr<Kernel> pad(const OperatorSpec& spec, const KernelTensors& tensors) {
  const TensorShape &x = tensors.input(0), &y = tensors.output(0);
  Strided from = plain_strides(x.dims), to = plain_strides(y.dims);
  auto dims = x.dims;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::int64_t start = spec.starts.at(i);
    const std::int64_t first = std::max<std::int64_t>(0, -start);
    dims[i] = std::max<std::int64_t>(0, std::min(x.dims[i], y.dims[i] - start) - first);
    from.offset += first * from.strides[i];
    to.offset += (first + start) * to.strides[i];
  }
  const std::int64_t count = y.elements();
  return kernel_of([=, value = cast_element<T>(spec.alpha)](const KernelCall& call) {
    const T* const in = read<T>(call, 0);
    T* const out = write<T>(call, 0);
    std::fill_n(out, count, value);
    for_each_element(dims, from, to,
                     [&](std::int64_t i, std::int64_t j) { out[j] = in[i]; });
  });
}

template <class T>
std::unique_ptr<Kernel> expand(const OperatorSpec& spec, const KernelTensors& tensors) {
  const auto dims = tensors.output(0).dims;
  const Strided from = broadcast_strides(tensors.input(0).dims, dims);
  const Strided to = plain_strides(dims);
  return kernel_of([=, scale = cast_element<T>(spec.alpha)](const KernelCall& call) {
    const T* const x = read<T>(call, 0);
    T* const y = write<T>(call, 0);
    for_each_element(dims, from, to, [&](std::int64_t i, std::int64_t j) {
      y[j] = static_cast<T>(scale * x[i]);
    });
  });
}

// Index i of a tensor of whole numbers, one below 0 from the end.
// @throws InvalidInput outside [-limit, limit)
std::int64_t index_at(const std::byte* indices, ElementType type, std::int64_t i,
                      std::int64_t limit) {
  const std::int64_t index = type == ElementType::kInt64
                                 ? reinterpret_cast<const std::int64_t*>(indices)[i]
                                 : reinterpret_cast<const std::int32_t*>(indices)[i];
  if (index < -limit || index >= limit)
    throw InvalidInput(
        fmt::format("index {} (number {}) is not in [{}, {})", index, i, -limit, limit));
  return index < 0 ? index + limit : index;
}

void check_indices(const TensorShape& indices) {
  if (indices.type != ElementType::kInt64 && indices.type != ElementType::kInt32)
    throw InvalidInput("indices are not whole numbers");
}

// A table seen as `blocks` of rows of `width` elements, one of which an index names.
struct MovedRows {
  std::int64_t blocks = 1, rows = 1, width = 1;
};
MovedRows rows_of(const TensorShape& table, std::int64_t axis) {
  MovedRows all{.rows = table.dim(axis)};
  for (std::int64_t i = 0; i < table.rank(); ++i) {
    if (i < axis) all.blocks *= table.dim(i);
    if (i > axis) all.width *= table.dim(i);
  }
  return all;
}

template <class T>
std::unique_ptr<Kernel> gather(const OperatorSpec& spec, const KernelTensors& tensors) {
  const TensorShape& indices = tensors.input(1);
  check_indices(indices);
  const MovedRows table = rows_of(tensors.input(0), spec.axis);
  const std::int64_t count = indices.elements();
  return kernel_of([=, type = indices.type](const KernelCall& call) {
    const T* from = read<T>(call, 0);
    T* to = write<T>(call, 0);
    for (std::int64_t b = 0; b < table.blocks; ++b, from += table.rows * table.width)
      for (std::int64_t i = 0; i < count; ++i, to += table.width)
        std::copy_n(from + index_at(call.inputs[1], type, i, table.rows) * table.width,
                    table.width, to);
  });
}

template <class T>
std::unique_ptr<Kernel> gather_backward(const OperatorSpec& spec,
                                        const KernelTensors& tensors) {
  const TensorShape& indices = tensors.input(0);
  check_indices(indices);
  const MovedRows table = rows_of(tensors.output(0), spec.axis);
  const std::int64_t count = indices.elements();
  return kernel_of([=, type = indices.type](const KernelCall& call) {
    const T* g = read<T>(call, 1);
    T* to = write<T>(call, 0);
    std::fill_n(to, table.blocks * table.rows * table.width, T(0));
    for (std::int64_t b = 0; b < table.blocks; ++b, to += table.rows * table.width)
      for (std::int64_t i = 0; i < count; ++i, g += table.width) {
        T* const row = to + index_at(call.inputs[0], type, i, table.rows) * table.width;
        for (std::int64_t j = 0; j < table.width; ++j)
          row[j] = static_cast<T>(row[j] + g[j]);
      }
  });
}

std::unique_ptr<Kernel> cast(const OperatorSpec& spec, const KernelTensors& tensors) {
  const TensorShape &x = tensors.input(0), &y = tensors.output(0);
  const std::int64_t count = x.elements();
  return of_type(x.type, [&](auto from) {
    return of_type(y.type, [&](auto to) -> std::unique_ptr<Kernel> {
      using From = decltype(from);
      using To = decltype(to);
      return kernel_of([count, truth = spec.truth](const KernelCall& call) {
        const From* const in = read<From>(call, 0);
        To* const out = write<To>(call, 0);
        for (std::int64_t i = 0; i < count; ++i)
          out[i] = truth ? static_cast<To>(in[i] != 0) : cast_element<To>(in[i]);
      });
    });
  });
}

}  // namespace

template <class T>
std::unique_ptr<Kernel> make_plain_movement(const OperatorSpec& spec,
                                            const KernelTensors& tensors) {
  switch (spec.kind) {
    case OperatorKind::kSlice:
      return slice<T>(spec, tensors);
    case OperatorKind::kSliceBackward:
      return slice_backward<T>(spec, tensors);
    case OperatorKind::kExpand:
      return expand<T>(spec, tensors);
    case OperatorKind::kPad:
      return pad<T>(spec, tensors);
    case OperatorKind::kGather:
      return gather<T>(spec, tensors);
    case OperatorKind::kGatherBackward:
      return gather_backward<T>(spec, tensors);
    case OperatorKind::kCast:
      return cast(spec, tensors);
    case OperatorKind::kCopy:
      return kernel_of([bytes = tensors.input(0).bytes()](const KernelCall& call) {
        std::memmove(call.outputs[0], call.inputs[0], static_cast<std::size_t>(bytes));
      });
    case OperatorKind::kFill:
      return kernel_of([count = tensors.output(0).elements(),
                        value = cast_element<T>(spec.alpha)](const KernelCall& call) {
        std::fill_n(write<T>(call, 0), count, value);
      });
    default:
      return nullptr;
  }
}

ESPALIER_FOR_ALL_ELEMENTS(make_plain_movement)

}  // namespace espalier::training
