#pragma once

// Solves with a factored diagonal block and products with the rows below it, for one or
// more right-hand sides: x is e x nrhs, column-major with leading dimension ldx. `a` and
// `diagonal` are laid out as factor_pivot_block() leaves them. T: matrix/entry.h.

#include <cmath>
#include <cstdint>

#include "solver/matrix/entry.h"
#include "solver/matrix/matrix_kind.h"

namespace espalier::solver::kernels {

/// x := L^-1 x, L the lower triangle of the e eliminated columns: with its diagonal for
/// Cholesky, unit for LDL^T and LU.
template <class T>
void forward_solve(FactorKind kind, std::int32_t e, const T* diagonal, std::int32_t ld,
                   std::int32_t nrhs, T* x, std::int32_t ldx);

/// x := D^-1 x, d as in PivotBlock::d.
template <class T>
void divide_by_d(std::int32_t e, const T* d, std::int32_t nrhs, T* x, std::int32_t ldx);

/// x := L^-T x for Cholesky and LDL^T, x := U^-1 x for LU.
template <class T>
void backward_solve(FactorKind kind, std::int32_t e, const T* diagonal, std::int32_t ld,
                    std::int32_t nrhs, T* x, std::int32_t ldx);

/// Of A^T x = b with A = L U: x := U^-T x, the first half. LU only.
template <class T>
void forward_solve_transposed(std::int32_t e, const T* diagonal, std::int32_t ld,
                              std::int32_t nrhs, T* x, std::int32_t ldx);

/// Of A^T x = b with A = L U: x := L^-T x with unit L, the second half. LU only.
template <class T>
void backward_solve_transposed(std::int32_t e, const T* diagonal, std::int32_t ld,
                               std::int32_t nrhs, T* x, std::int32_t ldx);

/// x / pivot, as forward_solve() has it: by the reciprocal where that is a normal number.
template <class T>
[[nodiscard]] T quotient(T x, T pivot) {
  const T inverse = T(1) / pivot;
  return std::isnormal(size_of(inverse)) ? x * inverse : x / pivot;
}

/// y := y - A x; A is m x e, x is e x nrhs, y is m x nrhs. Rows of L below the block, or
/// of the transposed U right of it for A^T.
template <class T>
void apply_below(std::int32_t m, std::int32_t e, const T* a, std::int32_t lda,
                 std::int32_t nrhs, const T* x, std::int32_t ldx, T* y, std::int32_t ldy);

/// x := x - A^T y, likewise: the way back.
template <class T>
void apply_below_transposed(std::int32_t m, std::int32_t e, const T* a, std::int32_t lda,
                            std::int32_t nrhs, const T* y, std::int32_t ldy, T* x,
                            std::int32_t ldx);

}  // namespace espalier::solver::kernels
