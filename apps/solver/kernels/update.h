#pragma once

// Updates of a block by factored columns: column-major, one thread. Small cases run as
// plain loops, where a call costs more than the work. T: matrix/entry.h.

#include <cstdint>
#include <span>
#include <type_traits>

namespace espalier::solver::kernels {

/// C := C - A B^T on the lower trapezoid of C, where B is the first n rows of A.
/// C is m x n with m >= n, A is m x k. The strict upper triangle of C is not touched.
template <class T>
void update_lower(std::int32_t m, std::int32_t n, std::int32_t k, const T* a,
                  std::int32_t lda, T* c, std::int32_t ldc);

/// C := C - A D B^T on the lower trapezoid of C, likewise.
///
/// @param d        D of the k columns as in PivotBlock::d; must not cut a 2 x 2 pivot
/// @param scratch  n k entries
template <class T>
void update_lower_ldlt(std::int32_t m, std::int32_t n, std::int32_t k, const T* a,
                       std::int32_t lda, const T* d, T* c, std::int32_t ldc,
                       std::span<std::type_identity_t<T>> scratch);

/// C := C - A B^T; C is m x n, A is m x k, B is n x k.
template <class T>
void update_general(std::int32_t m, std::int32_t n, std::int32_t k, const T* a,
                    std::int32_t lda, const T* b, std::int32_t ldb, T* c,
                    std::int32_t ldc);

/// As update_general() on the lower trapezoid of C, m >= n: A B^T where that product is
/// symmetric in its first n rows.
template <class T>
void update_lower_product(std::int32_t m, std::int32_t n, std::int32_t k, const T* a,
                          std::int32_t lda, const T* b, std::int32_t ldb, T* c,
                          std::int32_t ldc);

/// B := A D; A and B are m x k, d as in PivotBlock::d. B may be A.
template <class T>
void multiply_by_d(std::int32_t m, std::int32_t k, const T* a, std::int32_t lda,
                   const T* d, T* b, std::int32_t ldb);

}  // namespace espalier::solver::kernels
