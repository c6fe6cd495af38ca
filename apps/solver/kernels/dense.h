#pragma once

// Dense column-major kernels of the fronts, over CBLAS on one thread. Small cases run as
// plain loops, where a call costs more than the work.

#include <cstdint>

namespace espalier::solver::kernels {

/// Cholesky factor, in place, of the lower triangle of the n x n matrix `a`; the strict
/// upper triangle is not read and not written.
///
/// @return 0, or the 1-based column whose pivot is not positive (or not a number); the
///         columns before it are factored then
/// @par Cost  n^3 / 3 flops, recursive halves over dtrsm and dsyrk
std::int32_t cholesky(std::int32_t n, double* a, std::int32_t lda);

/// B := B L^-T: the rows below a diagonal block. B is m x n, L n x n lower.
void solve_below(std::int32_t m, std::int32_t n, const double* l, std::int32_t ldl,
                 double* b, std::int32_t ldb);

/// C := C - A B^T on the lower trapezoid of C, where B is the first n rows of A.
/// C is m x n with m >= n, A is m x k: the update of a block column by factored columns.
void update(std::int32_t m, std::int32_t n, std::int32_t k, const double* a,
            std::int32_t lda, double* c, std::int32_t ldc);

/// x := L^-1 x and y := y - B x, for the n rows of L and the m rows of B below it, both
/// in the one block `l` with leading dimension ld; x and y are contiguous: y = x + n.
void forward_block(std::int32_t m, std::int32_t n, const double* l, std::int32_t ld,
                   double* x);
/// x := L^-T (x - B^T y), likewise.
void backward_block(std::int32_t m, std::int32_t n, const double* l, std::int32_t ld,
                    double* x);

/// One BLAS thread a call from now on, where the library lets itself be told (OpenBLAS).
void use_one_blas_thread();

}  // namespace espalier::solver::kernels
