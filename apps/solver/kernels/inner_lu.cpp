#include <algorithm>
#include <cmath>

#include "solver/kernels/inner_factor.h"
#include "solver/kernels/magnitude.h"
#include "solver/matrix/multiversion.h"

namespace espalier::solver::kernels {
namespace {

// Column k, updated by those before it, is divided by its pivot; the columns from k + 1
// to n - 1 are updated.
template <class T>
ESPALIER_MULTIVERSION void eliminate(std::int32_t k, std::int32_t m, std::int32_t n,
                                     T* panel, std::int32_t ld) {
  T* const l = panel + std::int64_t{k} * ld;
  const T pivot = l[k];
  for (std::int32_t i = k + 1; i < m; ++i) l[i] /= pivot;
  for (std::int32_t j = k + 1; j < n; ++j) {
    T* const target = panel + std::int64_t{j} * ld;
    const T factor = target[k];
    for (std::int32_t i = k + 1; i < m; ++i) target[i] -= factor * l[i];
  }
}

template <class T>
ESPALIER_MULTIVERSION std::int32_t largest_row(std::int32_t k, std::int32_t m,
                                               const T* column) {
  const Bits<T> largest = largest_magnitude(m - k, column + k);
  std::int32_t row = k;
  while (magnitude(column[row]) != largest) ++row;
  return row;
}

template <class T>
void exchange_columns(InnerFactor<T>& inner, std::int32_t m, T* panel, std::int32_t ld,
                      std::int32_t k, std::int32_t p) {
  if (k == p) return;
  std::swap(inner.order[k], inner.order[p]);
  std::swap_ranges(panel + std::int64_t{k} * ld, panel + std::int64_t{k} * ld + m,
                   panel + std::int64_t{p} * ld);
}

}  // namespace

template <class T>
void factor_inner_lu(InnerFactor<T>& inner, std::int32_t m, T* panel, std::int32_t ld,
                     double tiny, double prefer, Strictness strictness,
                     RealOf<T> replacement, std::int32_t* row_swaps) {
  std::int32_t k = 0, last = inner.count;
  while (k < last) {
    T* const column = panel + std::int64_t{k} * ld;
    std::int32_t row = largest_row(k, m, column);
    const auto size = double(size_of(column[row]));
    const bool zero = !(size > tiny);
    if (!std::isfinite(size) || (zero && strictness != Strictness::kForced)) {
      exchange_columns(inner, m, panel, ld, k, --last);
      continue;
    }
    if (double(size_of(column[k])) >= prefer * size) row = k;
    row_swaps[k] = row;
    if (row != k)
      for (std::int32_t j = 0; j < inner.count; ++j)
        std::swap(panel[k + std::int64_t{j} * ld], panel[row + std::int64_t{j} * ld]);
    inner.perturbed[k] = zero;
    inner.size[k] = double(size_of(column[k]));
    if (zero) column[k] = signed_as(replacement, column[k]);
    eliminate(k, m, inner.count, panel, ld);
    ++k;
  }
  inner.rank = k;
  for (std::int32_t j = 0; j < inner.count; ++j)
    for (std::int32_t i = 0; i < k; ++i)
      inner.upper[i + j * kInner] = i <= j ? panel[i + std::int64_t{j} * ld] : T(0);
}

#define ESPALIER_INSTANTIATE(T)                                                          \
  template void factor_inner_lu(InnerFactor<T>&, std::int32_t, T*, std::int32_t, double, \
                                double, Strictness, RealOf<T>, std::int32_t*);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver::kernels
