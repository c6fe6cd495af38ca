#include "solver/kernels/narrow_ldlt.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "solver/kernels/inner_factor.h"
#include "solver/kernels/magnitude.h"
#include "solver/kernels/right_solve.h"
#include "solver/matrix/multiversion.h"

namespace espalier::solver::kernels {
namespace {

// The factors of a diagonal block: L under the diagonal of `lower`, and D.
template <class T>
struct NarrowLdlt {
  std::int32_t width;
  T lower[kNarrow * kNarrow];  // ld width
  T d[2 * kNarrow] = {};       // as PivotBlock::d
  PivotCounts counts = {};

  [[nodiscard]] T* column(std::int32_t j) { return lower + j * width; }
};

template <class T>
RealOf<T> largest_under(const T* column, std::int32_t first, std::int32_t end) {
  return modulus<T>(largest_magnitude(end - first, column + first));
}

template <class T>
bool within_bound(const T* column, std::int32_t first, std::int32_t end,
                  RealOf<T> bound) {
  return largest_under(column, first, end) <= bound;  // NaN is not
}

// Column k, a pivot by itself: L overwrites it, and the columns after it are updated.
template <class T>
ESPALIER_MULTIVERSION bool take_one(NarrowLdlt<T>& f, std::int32_t k, T pivot,
                                    RealOf<T> bound) {
  const std::int32_t w = f.width;
  const T inverse = T(1) / pivot;
  if (!std::isnormal(size_of(inverse))) return false;
  T* const l = f.column(k);
  for (std::int32_t j = k + 1; j < w; ++j) {
    T* const target = f.column(j);
    const T factor = across(T(l[j] * inverse));
#pragma GCC ivdep
    for (std::int32_t i = j; i < w; ++i) target[i] -= factor * l[i];
  }
  for (std::int32_t i = k + 1; i < w; ++i) l[i] *= inverse;
  return within_bound(l, k + 1, w, bound);
}

// Columns k and k + 1, a pivot [[a, b'], [b, c]].
template <class T>
ESPALIER_MULTIVERSION bool take_two(NarrowLdlt<T>& f, std::int32_t k, T a, T b, T c,
                                    RealOf<T> bound) {
  const std::int32_t w = f.width;
  T* const x = f.column(k);
  T* const y = f.column(k + 1);
  const T opposite = across(b);
  const T first = a / b, second = c / opposite, scale = T(1) / (first * second - T(1));
  std::array<T, kNarrow> left, right;
  for (std::int32_t i = k + 2; i < w; ++i) {
    const T p = x[i] / b, q = y[i] / opposite;
    left[i] = (second * p - q) * scale;
    right[i] = (first * q - p) * scale;
  }
  for (std::int32_t j = k + 2; j < w; ++j) {
    T* const target = f.column(j);
    const T p = across(left[j]), q = across(right[j]);
#pragma GCC ivdep
    for (std::int32_t i = j; i < w; ++i) target[i] -= p * x[i] + q * y[i];
  }
  for (std::int32_t i = k + 2; i < w; ++i) x[i] = left[i], y[i] = right[i];
  return within_bound(x, k + 2, w, bound) && within_bound(y, k + 2, w, bound);
}

// The pivot that begins at column k. @return its columns; 0: none is good
template <class T>
std::int32_t take_pivot(NarrowLdlt<T>& f, std::int32_t k, double tiny, RealOf<T> bound) {
  const std::int32_t w = f.width;
  const T a = on_diagonal(f.column(k)[k]);
  const auto own = double(size_of(a));
  const auto under = double(largest_under(f.column(k), k + 1, w));
  if (!std::isfinite(own) || !std::isfinite(under)) return 0;
  PivotCounts& counts = f.counts;
  if (own > tiny && own >= kAlpha * under) {
    if (!take_one(f, k, a, bound)) return 0;
    f.d[2 * k] = a;
    counts.negative += is_negative(a);
    counts.smallest = std::min(counts.smallest, own);
    return 1;
  }
  if (k + 1 >= w) return 0;
  const T b = f.column(k)[k + 1], c = on_diagonal(f.column(k + 1)[k + 1]);
  const auto off = double(size_of(b)), other = double(size_of(c));
  if (!(off >= under) || !(own * other <= kAlpha * kAlpha * off * off)) return 0;
  const double smallest = singular_bound(a, b, c);
  if (!(smallest > tiny) || !std::isfinite(smallest)) return 0;
  if (!take_two(f, k, a, b, c, bound)) return 0;
  f.d[2 * k] = a, f.d[2 * k + 1] = b, f.d[2 * k + 2] = c;
  counts.negative += kHasInertia<T>;
  ++counts.two_by_two;
  counts.smallest = std::min(counts.smallest, smallest);
  return 2;
}

// Ones on the diagonal, and a zero under the first one of a pair.
template <class T>
void write_ones(NarrowLdlt<T>& f) {
  for (std::int32_t k = 0; k < f.width; ++k) {
    f.column(k)[k] = T(1);
    if (f.d[2 * k + 1] != T(0)) f.column(k)[k + 1] = T(0);
  }
}

}  // namespace

template <class T>
std::optional<PivotCounts> factor_narrow_ldlt(const PivotBlock<T>& block,
                                              const PivotRule& rule,
                                              std::span<T> scratch) {
  const std::int32_t w = block.width;
  if (w > kNarrow) return std::nullopt;
  const auto bound = in_precision<T>(1 / rule.threshold);
  NarrowLdlt<T> f;
  f.width = w;
  copy_columns(w, w, block.diagonal, block.leading, f.lower, w);
  for (std::int32_t k = 0, taken = 0; k < w; k += taken)
    if (taken = take_pivot(f, k, rule.tiny, bound); taken == 0) return std::nullopt;
  write_ones(f);
  const auto divide = [&](const RowSegment<T>& rows, T* side) {
    const std::int32_t m = rows.rows;
    copy_columns(m, w, rows.data, rows.leading, side, m);
    solve_below_unit(m, w, f.lower, w, side, m);
    divide_columns(m, w, f.d, side, m);
    return first_over(m, w, side, m, double(bound)) == w;
  };
  if (!divide_rows(block.below, w, scratch, divide)) return std::nullopt;
  for (std::int32_t j = 0; j < w; ++j)
    std::copy(f.column(j) + j, f.column(j) + w,
              block.diagonal + j * (std::int64_t{block.leading} + 1));
  std::copy_n(f.d, 2 * w, block.d);
  std::iota(block.row_order, block.row_order + w, 0);
  f.counts.eliminated = w;
  return f.counts;
}

#define ESPALIER_INSTANTIATE(T)                           \
  template std::optional<PivotCounts> factor_narrow_ldlt( \
      const PivotBlock<T>&, const PivotRule&, std::span<T>);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver::kernels
