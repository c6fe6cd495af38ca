#pragma once

#include <cstdint>

namespace espalier::solver::kernels {

/// Rows of a trapezoid up to which subtract_lower_product() beats calls of BLAS.
inline constexpr std::int32_t kVectorRows = 256;

/// C -= A B^T on and under the diagonal of the m x n trapezoid C, m >= n: what a front of
/// some hundred rows takes from its contribution block. By tiles of 8 columns and 16 or 8
/// rows in registers, on processors that have AVX-512, or AVX2 and FMA; BLAS spends as
/// much on what is above the diagonal, or on packing.
///
///   1. rows that fill no tile of 8 are copied, with zeros after them
///   2. of each 8 columns: the tile on the diagonal, tiles below it, those last rows
///   3. the columns that are left likewise, by a copy of their rows of B
///
/// A is m x k, B n x k.
/// @param half  by AVX2 also where AVX-512 is
/// @return false: not for such a processor, or k; nothing is done then
/// @par Cost  k (2 m - n) n flops
[[nodiscard]] bool subtract_lower_product(std::int32_t m, std::int32_t n, std::int32_t k,
                                          const double* a, std::int32_t lda,
                                          const double* b, std::int32_t ldb, double* c,
                                          std::int32_t ldc, bool half = false);

}  // namespace espalier::solver::kernels
