#pragma once

#include <memory>

#include "training/operators/kernel.h"

namespace espalier::training {

// What oneDNN has no primitive for, by loops over tensors in the plain format (those that
// work on one element at a time: any format that all their tensors share). T is float, or
// double for the oracle; of choices, movement and pieces any type of of_type(), as
// make_typed_kernel() has them. null: not of this family.

template <class T>
[[nodiscard]] std::unique_ptr<Kernel> make_plain_elementwise(
    const OperatorSpec& spec, const KernelTensors& tensors);
template <class T>
[[nodiscard]] std::unique_ptr<Kernel> make_plain_unary(const OperatorSpec& spec,
                                                       const KernelTensors& tensors);
template <class T>
[[nodiscard]] std::unique_ptr<Kernel> make_plain_select(const OperatorSpec& spec,
                                                        const KernelTensors& tensors);
template <class T>
[[nodiscard]] std::unique_ptr<Kernel> make_plain_group_norm(const OperatorSpec& spec,
                                                            const KernelTensors& tensors);
template <class T>
[[nodiscard]] std::unique_ptr<Kernel> make_plain_local_norm(const OperatorSpec& spec,
                                                            const KernelTensors& tensors);
template <class T>
[[nodiscard]] std::unique_ptr<Kernel> make_plain_movement(const OperatorSpec& spec,
                                                          const KernelTensors& tensors);
/// Transpose, Concat and Split.
template <class T>
[[nodiscard]] std::unique_ptr<Kernel> make_plain_pieces(const OperatorSpec& spec,
                                                        const KernelTensors& tensors);
template <class T>
[[nodiscard]] std::unique_ptr<Kernel> make_plain_loss(const OperatorSpec& spec,
                                                      const KernelTensors& tensors);
template <class T>
[[nodiscard]] std::unique_ptr<Kernel> make_plain_update(const OperatorSpec& spec,
                                                        const KernelTensors& tensors);

/// kBinary of whole numbers T, but no quotient.
template <class T>
[[nodiscard]] std::unique_ptr<Kernel> make_whole_binary(const OperatorSpec& spec,
                                                        const KernelTensors& tensors);

/// Whether a kReduce sums all rows of a matrix of some columns, all plain: oneDNN 2 does
/// that slowly.
[[nodiscard]] bool sums_columns(const KernelTensors& tensors);

/// Any of them but functions of one element, which are asked for first.
template <class T>
[[nodiscard]] std::unique_ptr<Kernel> make_plain_kernel(const OperatorSpec& spec,
                                                        const KernelTensors& tensors) {
  if (auto kernel = make_plain_elementwise<T>(spec, tensors)) return kernel;
  if (auto kernel = make_plain_select<T>(spec, tensors)) return kernel;
  if (auto kernel = make_plain_group_norm<T>(spec, tensors)) return kernel;
  if (auto kernel = make_plain_local_norm<T>(spec, tensors)) return kernel;
  if (auto kernel = make_plain_movement<T>(spec, tensors)) return kernel;
  if (auto kernel = make_plain_loss<T>(spec, tensors)) return kernel;
  return make_plain_update<T>(spec, tensors);
}

}  // namespace espalier::training
