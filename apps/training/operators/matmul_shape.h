#pragma once

#include <cstdint>
#include <vector>

#include "training/operators/kernel.h"

namespace espalier::training {

/// A kMatMul as products of matrices: y[batch] = a[batch] b[batch], after everything that
/// is one matrix in memory has been taken as one.
struct MatMulShape {
  /// Leading dimensions of all three, of the same number; 1 where one is broadcast.
  std::vector<std::int64_t> a_batch, b_batch, y_batch;
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  std::vector<std::int64_t> c_dims;  ///< of the addend, with y's rank; empty: none

  [[nodiscard]] std::int64_t rank() const { return std::ssize(y_batch) + 2; }
};

/// @throws InvalidInput naming the shapes that do not go together
[[nodiscard]] MatMulShape matmul_shape(const OperatorSpec& spec,
                                       const KernelTensors& tensors);

}  // namespace espalier::training
