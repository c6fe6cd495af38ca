#include "solver/kernels/narrow_lu.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "solver/kernels/inner_factor.h"
#include "solver/kernels/magnitude.h"
#include "solver/kernels/pivot_loop.h"
#include "solver/kernels/right_solve.h"
#include "solver/kernels/unroll.h"
#include "solver/matrix/multiversion.h"

namespace espalier::solver::kernels {
namespace {

// Factors of the diagonal block: unit lower L, and U.
template <class T>
struct NarrowFactors {
  std::int32_t width;
  T lu[kNarrow * kNarrow];  // ld width
  T inverse[kNarrow];       // of the pivots
  double smallest = std::numeric_limits<double>::infinity();
};

// @return whether all pivots are good
template <class T>
ESPALIER_MULTIVERSION bool eliminate_in_place(NarrowFactors<T>& f, double tiny,
                                              double prefer, RealOf<T> bound) {
  const std::int32_t w = f.width;
  for (std::int32_t k = 0; k < w; ++k) {
    T* const l = f.lu + k * w;
    const T inverse = T(1) / l[k];
    const auto size = double(size_of(l[k]));
    const auto largest = double(modulus<T>(largest_magnitude(w - k, l + k)));
    if (!(size > tiny) || !std::isfinite(size) || !(size >= prefer * largest) ||
        !std::isnormal(size_of(inverse)))
      return false;
    f.smallest = std::min(f.smallest, size);
    f.inverse[k] = inverse;
    bool over = false;
    for (std::int32_t i = k + 1; i < w; ++i) {
      l[i] *= inverse;
      over |= !(size_of(l[i]) <= bound);
    }
    if (over) return false;
    for (std::int32_t j = k + 1; j < w; ++j) {
      T* const target = f.lu + j * w;
      const T factor = target[k];
#pragma GCC ivdep
      for (std::int32_t i = k + 1; i < w; ++i) target[i] -= factor * l[i];
    }
  }
  return true;
}

// X := A U^-1, row by row in registers. @return whether all of it is within the bound
template <int kWidth, class T>
[[gnu::always_inline]] inline bool divide_by_upper(std::int32_t m, const T* lu,
                                                   const T* inverse, RealOf<T> bound,
                                                   const T* a, std::int64_t lda, T* x) {
  bool over = false;
#pragma GCC ivdep
  for (std::int32_t i = 0; i < m; ++i) {
    T row[kWidth];
    for (int j = 0; j < kWidth; ++j) {
      row[j] = a[i + j * lda];
      for (int k = 0; k < j; ++k) row[j] -= lu[k + j * kWidth] * row[k];
      x[i + j * std::int64_t{m}] = row[j] *= inverse[j];
      over |= !(size_of(row[j]) <= bound);
    }
  }
  return !over;
}

template <class T>
ESPALIER_MULTIVERSION bool rows_in_registers(const NarrowFactors<T>& f, std::int32_t m,
                                             RealOf<T> bound, const T* a,
                                             std::int64_t lda, T* x) {
  return unroll(
      f.width, [&]<int kWidth>() __attribute__((always_inline)) {
        return divide_by_upper<kWidth>(m, f.lu, f.inverse, bound, a, lda, x);
      });
}

// X, ld m, := the rows of L where A stands. @return whether all are within the bound
template <class T>
bool rows_of_l(const NarrowFactors<T>& f, RealOf<T> bound, const RowSegment<T>& a, T* x) {
  const std::int32_t w = f.width, m = a.rows;
  if (0 < w && w <= kUnrolled)
    return rows_in_registers(f, m, bound, a.data, a.leading, x);
  copy_columns(m, w, a.data, a.leading, x, m);
  solve_by_upper(m, w, f.lu, w, x, m);
  return first_over(m, w, x, m, double(bound)) == w;
}

// A := A L^-T
template <int kWidth, class T>
[[gnu::always_inline]] inline void solve_by_lower(std::int32_t m, const T* lu, T* a,
                                                  std::int64_t lda) {
#pragma GCC ivdep
  for (std::int32_t i = 0; i < m; ++i) {
    T row[kWidth];
    for (int j = 0; j < kWidth; ++j) {
      row[j] = a[i + j * lda];
      for (int k = 0; k < j; ++k) row[j] -= lu[j + k * kWidth] * row[k];
      a[i + j * lda] = row[j];
    }
  }
}

template <class T>
ESPALIER_MULTIVERSION void solve_in_registers(const NarrowFactors<T>& f, std::int32_t m,
                                              T* a, std::int64_t lda) {
  unroll(
      f.width, [&]<int kWidth>() __attribute__((always_inline)) {
        solve_by_lower<kWidth>(m, f.lu, a, lda);
      });
}

template <class T>
void solve_right_of(const NarrowFactors<T>& f, const RowSegment<T>& a) {
  if (0 < f.width && f.width <= kUnrolled)
    solve_in_registers(f, a.rows, a.data, a.leading);
  else
    solve_below_unit(a.rows, f.width, f.lu, f.width, a.data, a.leading);
}

}  // namespace

template <class T>
std::optional<PivotCounts> factor_narrow_lu(const PivotBlock<T>& block,
                                            const PivotRule& rule, std::span<T> scratch) {
  const std::int32_t w = block.width;
  if (w > kNarrow) return std::nullopt;
  const auto bound = in_precision<T>(1 / rule.threshold);
  NarrowFactors<T> f;
  f.width = w;
  copy_columns(w, w, block.diagonal, block.leading, f.lu, w);
  if (!eliminate_in_place(f, rule.tiny, preferred_part(rule), bound)) return std::nullopt;
  const auto divide = [&](const RowSegment<T>& rows, T* side) {
    return rows_of_l(f, bound, rows, side);
  };
  if (!divide_rows(block.below, w, scratch, divide)) return std::nullopt;
  copy_columns(w, w, f.lu, w, block.diagonal, block.leading);
  for (const RowSegment<T>& segment : block.right) solve_right_of(f, segment);
  std::iota(block.row_order, block.row_order + w, 0);
  std::iota(block.column_order, block.column_order + w, 0);
  PivotCounts counts;
  counts.eliminated = w;
  counts.smallest = f.smallest;
  return counts;
}

#define ESPALIER_INSTANTIATE(T)                                              \
  template std::optional<PivotCounts> factor_narrow_lu(const PivotBlock<T>&, \
                                                       const PivotRule&, std::span<T>);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver::kernels
