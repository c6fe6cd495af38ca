#pragma once

#include "training/operators/kernel.h"

namespace espalier::training {

// Kernels through oneDNN. The first call of any of these loads libespalier_dnnl.so
// (espalier/machine/load_module.h) and oneDNN with it. @throws Error where it is missing

/// Through oneDNN where it has the primitive, single precision.
/// @throws InvalidInput for tensors that do not go together
[[nodiscard]] std::unique_ptr<Kernel> make_dnnl_kernel(const OperatorSpec& spec,
                                                       const KernelTensors& tensors);

/// oneDNN makes the code of its products of matrices at the first one, some 7 MiB that
/// are no part of any kernel; this has it made now. Later calls do nothing.
void make_product_code();

/// What a thread takes from the heap, at most, while it works on a product (or a
/// convolution by products) of an operand of so many bytes and a smaller one: copies of
/// blocks of both. oneDNN's blocks of single precision have at most 10 000 x 384 and
/// 384 x 384 elements on any processor; rows are filled up to 48, and there are pages
/// between.
[[nodiscard]] Bytes packed_bytes(Bytes larger, Bytes smaller);

}  // namespace espalier::training
