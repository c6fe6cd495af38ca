#include "solver/kernels/right_solve.h"

#include <algorithm>

#include "solver/kernels/blas.h"
#include "solver/matrix/multiversion.h"

namespace espalier::solver::kernels {
namespace {

constexpr std::int32_t kGroup = 4;         // columns in registers
constexpr std::int32_t kLoopColumns = 8;   // up to which loops beat calls
constexpr std::int64_t kLoopSolve = 4096;  // m n n up to which they do, too

/// What B is divided by: L, L with ones on its diagonal, or U.
enum class Triangle : std::int8_t { kLower, kUnitLower, kUpper };

// What column k < j, solved for, is multiplied by in column j.
template <Triangle kTriangle, class T>
[[gnu::always_inline]] inline T multiplier(const T* a, std::int64_t lda, std::int64_t j,
                                           std::int64_t k) {
  if constexpr (kTriangle == Triangle::kUpper)
    return a[k + j * lda];
  else
    return across(a[j + k * lda]);
}

// Columns j and after lose what the group at k, which is solved for, has in them.
template <Triangle kTriangle, int kColumns, class T>
[[gnu::always_inline]] inline void subtract_group(std::int32_t m, const T* a,
                                                  std::int64_t lda, std::int64_t j,
                                                  std::int64_t k, T* b,
                                                  std::int64_t ldb) {
  T factor[kColumns][kGroup];
  for (int c = 0; c < kColumns; ++c)
    for (int q = 0; q < kGroup; ++q)
      factor[c][q] = multiplier<kTriangle>(a, lda, j + c, k + q);
  const T* const source = b + k * ldb;
  T* const target = b + j * ldb;
#pragma GCC ivdep
  for (std::int32_t i = 0; i < m; ++i) {
    T row[kColumns];
    for (int c = 0; c < kColumns; ++c) row[c] = target[i + c * ldb];
    for (int q = 0; q < kGroup; ++q)
      for (int c = 0; c < kColumns; ++c) row[c] -= factor[c][q] * source[i + q * ldb];
    for (int c = 0; c < kColumns; ++c) target[i + c * ldb] = row[c];
  }
}

// The group at j, after what others have in it.
template <Triangle kTriangle, int kColumns, class T>
[[gnu::always_inline]] inline void solve_group(std::int32_t m, const T* a,
                                               std::int64_t lda, std::int64_t j, T* b,
                                               std::int64_t ldb) {
  T factor[kColumns][kColumns], inverse[kColumns];
  for (int c = 0; c < kColumns; ++c) {
    for (int q = 0; q < c; ++q)
      factor[c][q] = multiplier<kTriangle>(a, lda, j + c, j + q);
    if constexpr (kTriangle == Triangle::kLower)
      inverse[c] = T(1) / on_diagonal(a[(j + c) * (lda + 1)]);
    else if constexpr (kTriangle == Triangle::kUpper)
      inverse[c] = T(1) / a[(j + c) * (lda + 1)];
  }
  T* const target = b + j * ldb;
#pragma GCC ivdep
  for (std::int32_t i = 0; i < m; ++i) {
    T row[kColumns];
    for (int c = 0; c < kColumns; ++c) {
      row[c] = target[i + c * ldb];
      for (int q = 0; q < c; ++q) row[c] -= factor[c][q] * row[q];
      if constexpr (kTriangle != Triangle::kUnitLower) row[c] *= inverse[c];
      target[i + c * ldb] = row[c];
    }
  }
}

template <Triangle kTriangle, int kColumns, class T>
[[gnu::always_inline]] inline void next_group(std::int32_t m, const T* a,
                                              std::int64_t lda, std::int64_t j, T* b,
                                              std::int64_t ldb) {
  for (std::int64_t k = 0; k < j; k += kGroup)
    subtract_group<kTriangle, kColumns>(m, a, lda, j, k, b, ldb);
  solve_group<kTriangle, kColumns>(m, a, lda, j, b, ldb);
}

template <Triangle kTriangle, class T>
ESPALIER_MULTIVERSION void solve_loops(std::int32_t m, std::int32_t n, const T* a,
                                       std::int32_t lda, T* b, std::int32_t ldb) {
  std::int32_t j = 0;
  for (; j + kGroup <= n; j += kGroup)
    next_group<kTriangle, kGroup>(m, a, lda, j, b, ldb);
  switch (n - j) {
    case 1:
      return next_group<kTriangle, 1>(m, a, lda, j, b, ldb);
    case 2:
      return next_group<kTriangle, 2>(m, a, lda, j, b, ldb);
    case 3:
      return next_group<kTriangle, 3>(m, a, lda, j, b, ldb);
    default:
      return;
  }
}

// By halves, so that most of the work is gemm's: twice as fast as trsm, of any order.
template <Triangle kTriangle, class T>
void solve_right(std::int32_t m, std::int32_t n, const T* a, std::int32_t lda, T* b,
                 std::int32_t ldb) {
  if (m == 0 || n == 0) return;
  if (n <= kLoopColumns || std::int64_t{m} * n * n <= kLoopSolve)
    return solve_loops<kTriangle>(m, n, a, lda, b, ldb);
  constexpr bool kUpper = kTriangle == Triangle::kUpper;
  const std::int32_t half = ((n / 2 + 7) / 8) * 8;
  T* const right = b + std::int64_t{half} * ldb;
  solve_right<kTriangle>(m, half, a, lda, b, ldb);
  blas::gemm(CblasNoTrans, kUpper ? CblasNoTrans : blas::kAcross<T>, m, n - half, half,
             T(-1), b, ldb, kUpper ? a + std::int64_t{half} * lda : a + half, lda, T(1),
             right, ldb);
  solve_right<kTriangle>(m, n - half, a + std::int64_t{half} * (lda + 1), lda, right,
                         ldb);
}

}  // namespace

template <class T>
void solve_below(std::int32_t m, std::int32_t n, const T* l, std::int32_t ldl, T* b,
                 std::int32_t ldb) {
  solve_right<Triangle::kLower>(m, n, l, ldl, b, ldb);
}

template <class T>
void solve_below_unit(std::int32_t m, std::int32_t n, const T* l, std::int32_t ldl, T* b,
                      std::int32_t ldb) {
  solve_right<Triangle::kUnitLower>(m, n, l, ldl, b, ldb);
}

template <class T>
void solve_by_upper(std::int32_t m, std::int32_t n, const T* u, std::int32_t ldu, T* b,
                    std::int32_t ldb) {
  solve_right<Triangle::kUpper>(m, n, u, ldu, b, ldb);
}

#define ESPALIER_INSTANTIATE(T)                                                          \
  template void solve_below(std::int32_t, std::int32_t, const T*, std::int32_t, T*,      \
                            std::int32_t);                                               \
  template void solve_below_unit(std::int32_t, std::int32_t, const T*, std::int32_t, T*, \
                                 std::int32_t);                                          \
  template void solve_by_upper(std::int32_t, std::int32_t, const T*, std::int32_t, T*,   \
                               std::int32_t);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver::kernels
