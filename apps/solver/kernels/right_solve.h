#pragma once

// Triangular solves from the right, over rows of a front: loops in registers for a few
// columns, gemm for what they leave in others. T: matrix/entry.h.

#include <cstdint>

namespace espalier::solver::kernels {

/// B := B L^-H, where H is T for all but Hermitian entries: the rows below a diagonal
/// block. B is m x n, L n x n lower; what is above its diagonal is not read.
/// @par Cost  m n^2 flops
template <class T>
void solve_below(std::int32_t m, std::int32_t n, const T* l, std::int32_t ldl, T* b,
                 std::int32_t ldb);

/// As solve_below(), L with ones on its diagonal, which is not read.
template <class T>
void solve_below_unit(std::int32_t m, std::int32_t n, const T* l, std::int32_t ldl, T* b,
                      std::int32_t ldb);

/// B := B U^-1. B is m x n, U n x n upper; what is below its diagonal is not read.
/// @par Cost  m n^2 flops
template <class T>
void solve_by_upper(std::int32_t m, std::int32_t n, const T* u, std::int32_t ldu, T* b,
                    std::int32_t ldb);

}  // namespace espalier::solver::kernels
