#include "solver/kernels/block_solve.h"

#include <array>
#include <cmath>

#include "solver/kernels/blas.h"
#include "solver/kernels/blas_place.h"
#include "solver/matrix/multiversion.h"

namespace espalier::solver::kernels {
namespace {

// Orders below which loops beat calls: of several right-hand sides, and of one.
constexpr std::int32_t kLoopOrder = 8, kLoopAlone = 33;
// Of fewer rows OpenBLAS adds up one vector's products in another order where columns
// follow one another without a gap, which those of a tile do and those of a panel do not.
constexpr std::int32_t kRowsOfBlas = 4;

// Whether loops are to apply m rows of e columns.
bool by_loops(std::int32_t m, std::int32_t e, std::int32_t nrhs) {
  return nrhs == 1 ? e < kLoopAlone || m < kRowsOfBlas : e < kLoopOrder;
}

// One column: x := L^-1 x and U^-T x go down, L^-T x and U^-1 x go up. `a` holds L or U;
// kAlong says that what an unknown is taken from stands along its column (L^-1, U^-1),
// not along its row. Both ways one unknown after the other is taken from those that are
// left, side by side. So are the quotients, before: what waits for one another is a
// product and a difference. n is less than kLoopAlone.
template <bool kDown, bool kAlong, class T>
inline void solve_loops(std::int32_t n, const T* a, std::int32_t lda, bool unit, T* x) {
  std::array<T, kLoopAlone> inverse;
  if (!unit)
    for (std::int32_t j = 0; j < n; ++j)
      inverse[j] = T(1) / a[j * (std::int64_t{lda} + 1)];
  for (std::int32_t step = 0; step < n; ++step) {
    const std::int32_t j = kDown ? step : n - 1 - step;
    const std::int32_t first = kDown ? j + 1 : 0, last = kDown ? n : j;
    T value = x[j];
    if (!unit)
      value = std::isnormal(size_of(inverse[j])) ? value * inverse[j]
                                                 : value / a[j * (std::int64_t{lda} + 1)];
    x[j] = value;
    if (kAlong) {
      const T* const column = a + std::int64_t{j} * lda;
#pragma GCC ivdep
      for (std::int32_t i = first; i < last; ++i) x[i] -= value * column[i];
    } else {
      const T* const row = a + j;
      for (std::int32_t i = first; i < last; ++i)
        x[i] -= across(row[std::int64_t{i} * lda]) * value;
    }
  }
}

template <class T>
inline void solve_by_loops(bool lower, bool transposed, std::int32_t n, const T* a,
                           std::int32_t lda, bool unit, T* x) {
  if (lower)
    transposed ? solve_loops<false, false>(n, a, lda, unit, x)
               : solve_loops<true, true>(n, a, lda, unit, x);
  else
    transposed ? solve_loops<true, false>(n, a, lda, unit, x)
               : solve_loops<false, true>(n, a, lda, unit, x);
}

// The same for longer columns.
template <class T>
ESPALIER_MULTIVERSION void solve_alone(bool lower, bool transposed, std::int32_t n,
                                       const T* a, std::int32_t lda, bool unit, T* x) {
  solve_by_loops(lower, transposed, n, a, lda, unit, x);
}

// y := y - A x, four columns at a time.
template <class T>
ESPALIER_MULTIVERSION void apply_alone(std::int32_t m, std::int32_t e, const T* a,
                                       std::int32_t lda, const T* x, T* y) {
  std::int32_t k = 0;
  for (; k + 4 <= e; k += 4) {
    const T* const first = a + std::int64_t{k} * lda;
    const T *const second = first + lda, *const third = second + lda,
                   *const fourth = third + lda;
#pragma GCC ivdep
    for (std::int32_t i = 0; i < m; ++i)
      y[i] -= (first[i] * x[k] + second[i] * x[k + 1]) +
              (third[i] * x[k + 2] + fourth[i] * x[k + 3]);
  }
  for (; k < e; ++k) {
    const T* const column = a + std::int64_t{k} * lda;
    const T value = x[k];
#pragma GCC ivdep
    for (std::int32_t i = 0; i < m; ++i) y[i] -= value * column[i];
  }
}

// x := x - A^T y, likewise.
template <class T>
ESPALIER_MULTIVERSION void apply_across_alone(std::int32_t m, std::int32_t e, const T* a,
                                              std::int32_t lda, const T* y, T* x) {
  std::int32_t k = 0;
  for (; k + 4 <= e; k += 4) {
    const T* const first = a + std::int64_t{k} * lda;
    const T *const second = first + lda, *const third = second + lda,
                   *const fourth = third + lda;
    T s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (std::int32_t i = 0; i < m; ++i) {
      s0 += across(first[i]) * y[i];
      s1 += across(second[i]) * y[i];
      s2 += across(third[i]) * y[i];
      s3 += across(fourth[i]) * y[i];
    }
    x[k] -= s0;
    x[k + 1] -= s1;
    x[k + 2] -= s2;
    x[k + 3] -= s3;
  }
  for (; k < e; ++k) {
    const T* const column = a + std::int64_t{k} * lda;
    T even = 0, odd = 0;
    std::int32_t i = 0;
    for (; i + 2 <= m; i += 2) {
      even += across(column[i]) * y[i];
      odd += across(column[i + 1]) * y[i + 1];
    }
    if (i < m) even += across(column[i]) * y[i];
    x[k] -= even + odd;
  }
}

template <class T>
void solve_triangle(bool lower, bool transposed, bool unit, std::int32_t n, const T* a,
                    std::int32_t lda, std::int32_t nrhs, T* x, std::int32_t ldx) {
  if (n == 0 || nrhs == 0) return;
  const auto uplo = lower ? CblasLower : CblasUpper;
  const auto trans = transposed ? blas::kAcross<T> : CblasNoTrans;
  const auto diag = unit ? CblasUnit : CblasNonUnit;
  if (n < kLoopOrder) {
    for (std::int32_t j = 0; j < nrhs; ++j)
      solve_by_loops(lower, transposed, n, a, lda, unit, x + std::int64_t{j} * ldx);
  } else if (nrhs == 1 && n < kLoopAlone) {
    solve_alone(lower, transposed, n, a, lda, unit, x);
  } else if (nrhs == 1 && !bits_follow_place<T>()) {
    blas::trsv(uplo, trans, diag, n, a, lda, x);
  } else {
    blas::trsm(CblasLeft, uplo, trans, diag, n, nrhs, a, lda, x, ldx);
  }
}

}  // namespace

template <class T>
void forward_solve(FactorKind kind, std::int32_t e, const T* diagonal, std::int32_t ld,
                   std::int32_t nrhs, T* x, std::int32_t ldx) {
  const bool unit = kind != FactorKind::kCholesky;
  solve_triangle(true, false, unit, e, diagonal, ld, nrhs, x, ldx);
}

template <class T>
void divide_by_d(std::int32_t e, const T* d, std::int32_t nrhs, T* x, std::int32_t ldx) {
  for (std::int32_t k = 0; k < e; ++k) {
    T* const row = x + k;
    const T cross = d[2 * k + 1];
    if (cross == T(0)) {
      for (std::int32_t j = 0; j < nrhs; ++j) row[std::int64_t{j} * ldx] /= d[2 * k];
      continue;
    }
    // Scaled by the entry off the diagonal, the largest: no overflow in the determinant.
    const T opposite = across(cross);
    const T first = d[2 * k] / cross, second = d[2 * k + 2] / opposite;
    const T determinant = first * second - T(1);
    for (std::int32_t j = 0; j < nrhs; ++j) {
      T* const pair = row + std::int64_t{j} * ldx;
      const T top = pair[0], bottom = pair[1];
      pair[0] = (second * (top / cross) - bottom / cross) / determinant;
      pair[1] = (first * (bottom / opposite) - top / opposite) / determinant;
    }
    ++k;
  }
}

template <class T>
void backward_solve(FactorKind kind, std::int32_t e, const T* diagonal, std::int32_t ld,
                    std::int32_t nrhs, T* x, std::int32_t ldx) {
  const bool lu = kind == FactorKind::kLu, unit = kind == FactorKind::kLdlt;
  solve_triangle(!lu, !lu, unit, e, diagonal, ld, nrhs, x, ldx);
}

template <class T>
void forward_solve_transposed(std::int32_t e, const T* diagonal, std::int32_t ld,
                              std::int32_t nrhs, T* x, std::int32_t ldx) {
  solve_triangle(false, true, false, e, diagonal, ld, nrhs, x, ldx);
}

template <class T>
void backward_solve_transposed(std::int32_t e, const T* diagonal, std::int32_t ld,
                               std::int32_t nrhs, T* x, std::int32_t ldx) {
  solve_triangle(true, true, true, e, diagonal, ld, nrhs, x, ldx);
}

template <class T>
void apply_below(std::int32_t m, std::int32_t e, const T* a, std::int32_t lda,
                 std::int32_t nrhs, const T* x, std::int32_t ldx, T* y,
                 std::int32_t ldy) {
  if (m == 0 || e == 0 || nrhs == 0) return;
  if (by_loops(m, e, nrhs)) {
    for (std::int32_t j = 0; j < nrhs; ++j)
      apply_alone(m, e, a, lda, x + std::int64_t{j} * ldx, y + std::int64_t{j} * ldy);
  } else if (nrhs == 1 && !bits_follow_place<T>()) {
    blas::gemv(CblasNoTrans, m, e, a, lda, x, y);
  } else {
    blas::gemm(CblasNoTrans, CblasNoTrans, m, nrhs, e, T(-1), a, lda, x, ldx, T(1), y,
               ldy);
  }
}

template <class T>
void apply_below_transposed(std::int32_t m, std::int32_t e, const T* a, std::int32_t lda,
                            std::int32_t nrhs, const T* y, std::int32_t ldy, T* x,
                            std::int32_t ldx) {
  if (m == 0 || e == 0 || nrhs == 0) return;
  if (by_loops(m, e, nrhs)) {
    for (std::int32_t j = 0; j < nrhs; ++j)
      apply_across_alone(m, e, a, lda, y + std::int64_t{j} * ldy,
                         x + std::int64_t{j} * ldx);
  } else if (nrhs == 1 && !bits_follow_place<T>()) {
    blas::gemv(blas::kAcross<T>, m, e, a, lda, y, x);
  } else {
    blas::gemm(blas::kAcross<T>, CblasNoTrans, e, nrhs, m, T(-1), a, lda, y, ldy, T(1), x,
               ldx);
  }
}

#define ESPALIER_INSTANTIATE(T)                                                      \
  template void forward_solve(FactorKind, std::int32_t, const T*, std::int32_t,      \
                              std::int32_t, T*, std::int32_t);                       \
  template void divide_by_d(std::int32_t, const T*, std::int32_t, T*, std::int32_t); \
  template void backward_solve(FactorKind, std::int32_t, const T*, std::int32_t,     \
                               std::int32_t, T*, std::int32_t);                      \
  template void forward_solve_transposed(std::int32_t, const T*, std::int32_t,       \
                                         std::int32_t, T*, std::int32_t);            \
  template void backward_solve_transposed(std::int32_t, const T*, std::int32_t,      \
                                          std::int32_t, T*, std::int32_t);           \
  template void apply_below(std::int32_t, std::int32_t, const T*, std::int32_t,      \
                            std::int32_t, const T*, std::int32_t, T*, std::int32_t); \
  template void apply_below_transposed(std::int32_t, std::int32_t, const T*,         \
                                       std::int32_t, std::int32_t, const T*,         \
                                       std::int32_t, T*, std::int32_t);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver::kernels
