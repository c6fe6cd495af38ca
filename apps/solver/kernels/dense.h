#pragma once

// Dense column-major kernels of the fronts, over CBLAS on one thread. Small cases run as
// plain loops, where a call costs more than the work. T: matrix/entry.h.

#include <cstdint>

#include "solver/kernels/right_solve.h"
#include "solver/kernels/update.h"

namespace espalier::solver::kernels {

/// Cholesky factor, in place, of the lower triangle of the n x n matrix `a`; the strict
/// upper triangle is not read and not written.
///
/// @return 0, or the 1-based column whose pivot is not positive (or not a number); the
///         columns before it are factored then
/// @par Cost  n^3 / 3 flops, recursive halves over solve_below() and update_lower()
template <class T>
std::int32_t cholesky(std::int32_t n, T* a, std::int32_t lda);

/// cholesky() of the pivots of an order x n panel, then solve_below() of the rows below
/// them, bit for bit: small panels column by column, in one pass.
///
/// @return as cholesky(); what stands below is not to be used then
template <class T>
std::int32_t cholesky_panel(std::int32_t n, std::int32_t order, T* panel);

/// One BLAS thread a call from now on, where the library lets itself be told (OpenBLAS).
void use_one_blas_thread();
/// Threads of a BLAS call, and a change of them; 0: not known, and then not changed.
[[nodiscard]] std::int32_t blas_threads();
void use_blas_threads(std::int32_t count);

}  // namespace espalier::solver::kernels
