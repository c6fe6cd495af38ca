// Transpose, Concat and Split of tensors in the plain format.

#include "training/operators/function_kernel.h"
#include "training/operators/instantiate.h"
#include "training/operators/plain_kernels.h"
#include "training/operators/strided.h"

namespace espalier::training {
namespace {

template <class T>
std::unique_ptr<Kernel> transpose(const OperatorSpec& spec,
                                  const KernelTensors& tensors) {
  const auto dims = tensors.output(0).dims;
  const Strided x = plain_strides(tensors.input(0).dims), to = plain_strides(dims);
  Strided from = x;
  for (std::size_t i = 0; i < dims.size(); ++i)
    from.strides[i] = x.strides.at(static_cast<std::size_t>(spec.axes.at(i)));
  return kernel_of([=](const KernelCall& call) {
    for_each_element(dims, from, to, [&](std::int64_t i, std::int64_t j) {
      write<T>(call, 0)[j] = read<T>(call, 0)[i];
    });
  });
}

// The pieces of a tensor along an axis, no value: left out; spec.steps is its width.
struct Piece {
  std::vector<std::int64_t> dims;
  Strided inside;  // of the whole
};
std::vector<std::optional<Piece>> pieces_of(
    const OperatorSpec& spec, const TensorShape& whole,
    const std::vector<std::optional<TensorShape>>& parts) {
  const auto axis =
      static_cast<std::size_t>(spec.axis < 0 ? spec.axis + whole.rank() : spec.axis);
  std::vector<std::optional<Piece>> pieces;
  Strided inside = plain_strides(whole.dims);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    pieces.emplace_back();
    if (parts[i]) pieces.back() = {parts[i]->dims, inside};
    inside.offset +=
        inside.strides[axis] * (parts[i] ? parts[i]->dims[axis] : spec.steps.at(i));
  }
  return pieces;
}

template <class T>
std::unique_ptr<Kernel> concat(const OperatorSpec& spec, const KernelTensors& tensors) {
  const auto pieces = pieces_of(spec, tensors.output(0), tensors.inputs);
  return kernel_of([pieces](const KernelCall& call) {
    for (std::size_t p = 0; p < pieces.size(); ++p)
      for_each_element(pieces[p]->dims, plain_strides(pieces[p]->dims), pieces[p]->inside,
                       [&](std::int64_t i, std::int64_t j) {
                         write<T>(call, 0)[j] = read<T>(call, p)[i];
                       });
  });
}

template <class T>
std::unique_ptr<Kernel> split(const OperatorSpec& spec, const KernelTensors& tensors) {
  const auto pieces = pieces_of(spec, tensors.input(0), tensors.outputs);
  return kernel_of([pieces](const KernelCall& call) {
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      if (!pieces[p]) continue;
      for_each_element(pieces[p]->dims, plain_strides(pieces[p]->dims), pieces[p]->inside,
                       [&](std::int64_t i, std::int64_t j) {
                         write<T>(call, p)[i] = read<T>(call, 0)[j];
                       });
    }
  });
}

}  // namespace

template <class T>
std::unique_ptr<Kernel> make_plain_pieces(const OperatorSpec& spec,
                                          const KernelTensors& tensors) {
  switch (spec.kind) {
    case OperatorKind::kTranspose:
      return transpose<T>(spec, tensors);
    case OperatorKind::kConcat:
      return concat<T>(spec, tensors);
    case OperatorKind::kSplit:
      return split<T>(spec, tensors);
    default:
      return nullptr;
  }
}

ESPALIER_FOR_ALL_ELEMENTS(make_plain_pieces)

}  // namespace espalier::training
