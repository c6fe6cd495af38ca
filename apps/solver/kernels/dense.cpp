#include "solver/kernels/dense.h"

#include <cmath>

#include "solver/kernels/blas.h"
#include "solver/kernels/block_solve.h"
#include "solver/kernels/unroll.h"
#include "solver/matrix/multiversion.h"

// OpenBLAS has it, other libraries do not: null then.
extern "C" __attribute__((weak)) void openblas_set_num_threads(int threads);
extern "C" __attribute__((weak)) int openblas_get_num_threads();

namespace espalier::solver::kernels {
namespace {

constexpr std::int32_t kUnblocked = 32;    // order up to which loops beat calls
constexpr std::int64_t kLoopPanel = 4096;  // rows below times n n, likewise

// Of the first n columns of `rows` rows. Columns do not overlap; to find that out costs
// as much as a short one.
template <class T>
ESPALIER_MULTIVERSION std::int32_t cholesky_loops(std::int32_t n, std::int32_t rows, T* a,
                                                  std::int32_t lda) {
  for (std::int32_t j = 0; j < n; ++j) {
    T* const column = a + std::int64_t{j} * lda;
    const RealOf<T> pivot = real_part(column[j]);
    if (!(pivot > 0) || std::isinf(pivot)) return j + 1;
    const RealOf<T> root = std::sqrt(pivot), inverse = 1 / root;
    column[j] = root;
    for (std::int32_t i = j + 1; i < rows; ++i) column[i] *= inverse;
    for (std::int32_t k = j + 1; k < n; ++k) {
      T* const target = a + std::int64_t{k} * lda;
      const T factor = across(column[k]);
#pragma GCC ivdep
      for (std::int32_t i = k; i < rows; ++i) target[i] -= factor * column[i];
    }
  }
  return 0;
}

// A panel of so many columns, row by row in registers: the same operations in the same
// order.
template <int kPivots, class T>
[[gnu::always_inline]] inline std::int32_t panel_by_rows(std::int32_t order, T* panel) {
  T l[kPivots][kPivots];
  RealOf<T> inverse[kPivots];
  for (int j = 0; j < kPivots; ++j) {
    for (int i = j; i < kPivots; ++i) {
      l[i][j] = panel[i + j * std::int64_t{order}];
      for (int k = 0; k < j; ++k) l[i][j] -= across(l[j][k]) * l[i][k];
    }
    const RealOf<T> pivot = real_part(l[j][j]);
    if (!(pivot > 0) || std::isinf(pivot)) return j + 1;
    const RealOf<T> root = std::sqrt(pivot);
    inverse[j] = 1 / root;
    panel[j + j * std::int64_t{order}] = l[j][j] = root;
    for (int i = j + 1; i < kPivots; ++i)
      panel[i + j * std::int64_t{order}] = l[i][j] *= inverse[j];
  }
#pragma GCC ivdep
  for (std::int32_t i = kPivots; i < order; ++i) {
    T row[kPivots];
    for (int j = 0; j < kPivots; ++j) {
      row[j] = panel[i + j * std::int64_t{order}];
      for (int k = 0; k < j; ++k) row[j] -= across(l[j][k]) * row[k];
      panel[i + j * std::int64_t{order}] = row[j] *= inverse[j];
    }
  }
  return 0;
}

template <class T>
ESPALIER_MULTIVERSION std::int32_t narrow_panel(std::int32_t n, std::int32_t order,
                                                T* panel) {
  return unroll(
      n, [&]<int kPivots>() __attribute__((always_inline)) {
        return panel_by_rows<kPivots>(order, panel);
      });
}

}  // namespace

template <class T>
std::int32_t cholesky(std::int32_t n, T* a, std::int32_t lda) {
  if (n <= kUnblocked) return cholesky_loops(n, n, a, lda);
  const std::int32_t half = ((n / 2 + 7) / 8) * 8, rest = n - half;
  if (const auto failed = cholesky(half, a, lda)) return failed;
  T* const below = a + half;
  T* const corner = a + half + std::int64_t{half} * lda;
  solve_below(rest, half, a, lda, below, lda);
  update_lower(rest, rest, half, below, lda, corner, lda);
  const auto failed = cholesky(rest, corner, lda);
  return failed ? failed + half : 0;
}

template <class T>
std::int32_t cholesky_panel(std::int32_t n, std::int32_t order, T* panel) {
  const std::int64_t below = order - n;
  if (n <= kUnblocked && below * n * n <= kLoopPanel)
    return 0 < n && n <= kUnrolled ? narrow_panel(n, order, panel)
                                   : cholesky_loops(n, order, panel, order);
  const std::int32_t failed = cholesky(n, panel, order);
  if (failed == 0) solve_below(order - n, n, panel, order, panel + n, order);
  return failed;
}

void use_one_blas_thread() { use_blas_threads(1); }

std::int32_t blas_threads() {
  return openblas_get_num_threads != nullptr ? openblas_get_num_threads() : 0;
}

void use_blas_threads(std::int32_t count) {
  if (openblas_set_num_threads != nullptr && count > 0) openblas_set_num_threads(count);
}

#define ESPALIER_INSTANTIATE(T)                                   \
  template std::int32_t cholesky(std::int32_t, T*, std::int32_t); \
  template std::int32_t cholesky_panel(std::int32_t, std::int32_t, T*);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver::kernels
