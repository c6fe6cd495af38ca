#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "solver/kernels/inner_factor.h"
#include "solver/kernels/magnitude.h"
#include "solver/matrix/multiversion.h"

namespace espalier::solver::kernels {

// |det| / (infinity norm) of a Hermitian or symmetric matrix <= smaller singular value.
template <class T>
double singular_bound(T a, T b, T c) {
  const Wide<T> off = widened(b);
  const Wide<T> first = widened(a) / off, second = widened(c) / across(off);
  return modulus_of(off) * modulus_of(Wide<T>(first * second - 1.0)) /
         (1 + std::max(modulus_of(first), modulus_of(second)));
}

namespace {

// The pivot that complete pivoting takes: 1 x 1 where row == column.
struct Choice {
  std::int32_t row, column;
  double size;  // modulus, or lower bound of the smaller singular value
};

template <class T>
T& at(T* a, std::int32_t i, std::int32_t j) {
  return a[i + j * kInner];
}

template <class T>
ESPALIER_MULTIVERSION Choice choose(std::int32_t k, std::int32_t n, const T* s) {
  Bits<T> diagonal = 0, cross = 0;
  std::int32_t place = k, column = k;
  for (std::int32_t j = k; j < n; ++j) {
    const T* const entries = s + j * kInner;
    const Bits<T> own = magnitude(on_diagonal(entries[j]));
    if (own > diagonal) diagonal = own, place = j;
    const Bits<T> largest = largest_magnitude(n - j - 1, entries + j + 1);
    if (largest > cross) cross = largest, column = j;
  }
  const auto one = double(modulus<T>(diagonal)), off = double(modulus<T>(cross));
  if (!std::isfinite(one) || !std::isfinite(off))
    return {k, k, std::numeric_limits<double>::infinity()};
  if (one >= kAlpha * off) return {place, place, one};
  const T* const entries = s + column * kInner;
  std::int32_t row = column + 1;
  while (magnitude(entries[row]) != cross) ++row;
  return {row, column,
          singular_bound(on_diagonal(entries[column]), entries[row],
                         on_diagonal(s[row + row * kInner]))};
}

template <class T>
void exchange(InnerFactor<T>& inner, std::int32_t k, std::int32_t p) {
  if (k == p) return;
  std::swap(inner.order[k], inner.order[p]);
  for (std::int32_t j = 0; j < inner.count; ++j)
    std::swap(at(inner.lower, k, j), at(inner.lower, p, j));
  for (std::int32_t i = k; i < inner.count; ++i)
    std::swap(at(inner.lower, i, k), at(inner.lower, i, p));
}

// Eliminates column k of the square; L overwrites it.
template <class T>
ESPALIER_MULTIVERSION void eliminate_one(std::int32_t k, std::int32_t n, T* s, T pivot) {
  T* const l = s + k * kInner;
  for (std::int32_t j = k + 1; j < n; ++j) {
    T* const target = s + j * kInner;
    const T factor = across(l[j]) / pivot;
    for (std::int32_t i = k + 1; i < n; ++i) target[i] -= factor * l[i];
  }
  for (std::int32_t i = k + 1; i < n; ++i) l[i] /= pivot;
}

template <class T>
ESPALIER_MULTIVERSION void eliminate_two(std::int32_t k, std::int32_t n, T* s, T a, T b,
                                         T c) {
  T* const x = s + k * kInner;
  T* const y = x + kInner;
  const T opposite = across(b);
  const T first = a / b, second = c / opposite, scale = T(1) / (first * second - T(1));
  T left[kInner], right[kInner];
  for (std::int32_t i = k + 2; i < n; ++i) {
    const T p = x[i] / b, q = y[i] / opposite;
    left[i] = (second * p - q) * scale;
    right[i] = (first * q - p) * scale;
  }
  for (std::int32_t j = k + 2; j < n; ++j) {
    T* const target = s + j * kInner;
    const T p = across(left[j]), q = across(right[j]);
    for (std::int32_t i = k + 2; i < n; ++i) target[i] -= p * x[i] + q * y[i];
  }
  for (std::int32_t i = k + 2; i < n; ++i) x[i] = left[i], y[i] = right[i];
}

// upper := D L^T and the unit diagonal of L.
template <class T>
void finish(InnerFactor<T>& inner) {
  for (std::int32_t k = 0; k < inner.rank; ++k) {
    for (std::int32_t i = 0; i < k; ++i) at(inner.lower, i, k) = 0;
    at(inner.lower, k, k) = 1;
  }
  for (std::int32_t k = 0; k < inner.rank; ++k) {
    const T* const d = inner.d + 2 * k;
    const bool two = d[1] != T(0);
    if (two) at(inner.lower, k + 1, k) = 0;
    for (std::int32_t j = 0; j < inner.count; ++j) {
      const T l = across(at(inner.lower, j, k));
      if (!two) {
        at(inner.upper, k, j) = d[0] * l;
        continue;
      }
      const T next = across(at(inner.lower, j, k + 1));
      at(inner.upper, k, j) = d[0] * l + across(d[1]) * next;
      at(inner.upper, k + 1, j) = d[1] * l + d[2] * next;
    }
    if (two) ++k;
  }
}

}  // namespace

template <class T>
void factor_inner_ldlt(InnerFactor<T>& inner, double tiny, Strictness strictness,
                       RealOf<T> replacement) {
  T* const s = inner.lower;
  const std::int32_t n = inner.count;
  inner.symmetric = true;
  std::int32_t k = 0;
  while (k < n) {
    const Choice choice = choose(k, n, s);
    if (!std::isfinite(choice.size)) break;
    const bool zero = !(choice.size > tiny);
    if (zero && strictness != Strictness::kForced) break;
    inner.perturbed[k] = zero;
    inner.size[k] = choice.size;
    if (zero || choice.row == choice.column) {
      exchange(inner, k, choice.column);
      const T own = on_diagonal(at(s, k, k));
      const T pivot = zero ? signed_as(replacement, own) : own;
      eliminate_one(k, n, s, pivot);
      inner.d[2 * k] = pivot;
      inner.d[2 * k + 1] = 0;
      ++k;
      continue;
    }
    exchange(inner, k, choice.column);
    exchange(inner, k + 1, choice.row);
    const T a = on_diagonal(at(s, k, k)), b = at(s, k + 1, k),
            c = on_diagonal(at(s, k + 1, k + 1));
    eliminate_two(k, n, s, a, b, c);
    inner.d[2 * k] = a;
    inner.d[2 * k + 1] = b;
    inner.d[2 * k + 2] = c;
    inner.d[2 * k + 3] = 0;
    inner.perturbed[k + 1] = false;
    inner.size[k + 1] = choice.size;
    k += 2;
  }
  inner.rank = k;
  finish(inner);
}

#define ESPALIER_INSTANTIATE(T)            \
  template double singular_bound(T, T, T); \
  template void factor_inner_ldlt(InnerFactor<T>&, double, Strictness, RealOf<T>);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver::kernels
