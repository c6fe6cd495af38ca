#include <algorithm>
#include <cmath>

#include "solver/kernels/blas.h"
#include "solver/kernels/inner_factor.h"
#include "solver/kernels/right_solve.h"
#include "solver/matrix/multiversion.h"

namespace espalier::solver::kernels {
namespace {

template <class T>
ESPALIER_MULTIVERSION bool within(std::int32_t m, const T* x, RealOf<T> bound) {
  bool over = false;
  for (std::int32_t i = 0; i < m; ++i) over |= !(size_of(x[i]) <= bound);
  return !over;
}

template <class T>
ESPALIER_MULTIVERSION void divide(std::int32_t m, T* x, T pivot) {
  const T inverse = T(1) / pivot;
  if (std::isnormal(size_of(inverse))) {
    for (std::int32_t i = 0; i < m; ++i) x[i] *= inverse;
  } else {
    for (std::int32_t i = 0; i < m; ++i) x[i] /= pivot;
  }
}

// Two columns by [[a, b'], [b, c]], b' = across(b), scaled by b, the largest.
template <class T>
ESPALIER_MULTIVERSION void divide_pair(std::int32_t m, T* x, T* y, T a, T b, T c) {
  const T opposite = across(b);
  const T first = a / b, second = c / opposite, scale = T(1) / (first * second - T(1));
  for (std::int32_t i = 0; i < m; ++i) {
    const T p = x[i] / b, q = y[i] / opposite;
    x[i] = (second * p - q) * scale;
    y[i] = (first * q - p) * scale;
  }
}

// As divide() and divide_pair() would leave them.
template <class T>
ESPALIER_MULTIVERSION bool within_divided(std::int32_t m, const T* x, T pivot,
                                          RealOf<T> bound) {
  const T inverse = T(1) / pivot;
  const bool normal = std::isnormal(size_of(inverse));
  bool over = false;
  if (normal) {
    for (std::int32_t i = 0; i < m; ++i) over |= !(size_of(T(x[i] * inverse)) <= bound);
  } else {
    for (std::int32_t i = 0; i < m; ++i) over |= !(size_of(T(x[i] / pivot)) <= bound);
  }
  return !over;
}

template <class T>
ESPALIER_MULTIVERSION bool pair_within_divided(std::int32_t m, const T* x, const T* y,
                                               T a, T b, T c, RealOf<T> bound) {
  const T opposite = across(b);
  const T first = a / b, second = c / opposite, scale = T(1) / (first * second - T(1));
  bool over = false;
  for (std::int32_t i = 0; i < m; ++i) {
    const T p = x[i] / b, q = y[i] / opposite;
    over |= !(size_of(T((second * p - q) * scale)) <= bound);
    over |= !(size_of(T((first * q - p) * scale)) <= bound);
  }
  return !over;
}

template <class T>
class InnerRows {
 public:
  InnerRows(const InnerFactor<T>& inner, std::int32_t limit, double bound, T* saved)
      : inner_(inner), limit_(limit), bound_(in_precision<T>(bound)), saved_(saved) {}

  [[nodiscard]] std::int32_t limit() const { return limit_; }

  // All rows of the segment by chunks. @return whether all columns were kept
  void apply(const RowSegment<T>& rows, T* products, std::int32_t ldp) {
    for (std::int32_t i = 0; i < rows.rows; i += kChunk) {
      const std::int32_t m = std::min(kChunk, rows.rows - i), before = limit_;
      apply_chunk(m, rows.data + i, rows.leading, products ? products + i : nullptr, ldp);
      if (limit_ < before) put_back({rows.data, rows.leading, i}, before);
    }
  }

  // Columns limit_ .. before - 1 of rows that hold L: L times those columns of upper.
  void put_back(const RowSegment<T>& rows, std::int32_t before) {
    for (std::int32_t i = 0; i < rows.rows; i += kChunk) {
      const std::int32_t m = std::min(kChunk, rows.rows - i);
      T* const a = rows.data + i;
      copy_columns(m, before, a, rows.leading, saved_, m);
      blas::gemm(CblasNoTrans, CblasNoTrans, m, before - limit_, before, T(1), saved_, m,
                 inner_.upper + limit_ * kInner, kInner, T(0),
                 a + std::int64_t{limit_} * rows.leading, rows.leading);
    }
  }

 private:
  void apply_chunk(std::int32_t m, T* a, std::int32_t ld, T* products, std::int32_t ldp) {
    copy_columns(m, inner_.count, a, ld, saved_, m);
    gather(m, 0, a, ld);
    if (limit_ == 0) return;
    if (inner_.symmetric) {
      solve_below_unit(m, limit_, inner_.lower, kInner, a, ld);
      if (products) copy_columns(m, limit_, a, ld, products, ldp);
      divide_columns(m, limit_, inner_.d, a, ld);
    } else {
      solve_by_upper(m, limit_, inner_.upper, kInner, a, ld);
    }
    std::int32_t kept = 0;
    while (kept < limit_ && within(m, a + std::int64_t{kept} * ld, bound_)) ++kept;
    if (kept == limit_) return;
    limit_ = inner_.pivot_begin(kept);
    gather(m, limit_, a, ld);
  }

  // Columns from `first` on from the saved ones.
  void gather(std::int32_t m, std::int32_t first, T* a, std::int32_t ld) {
    for (std::int32_t k = first; k < inner_.count; ++k)
      std::copy_n(saved_ + std::int64_t{inner_.order[k]} * m, m,
                  a + std::int64_t{k} * ld);
  }

  const InnerFactor<T>& inner_;
  std::int32_t limit_;
  RealOf<T> bound_;
  T* saved_;
};

}  // namespace

template <class T>
std::int32_t apply_inner(const InnerFactor<T>& inner, std::int32_t limit, double bound,
                         const RowSegment<T>& tail, T* products, std::int32_t ldp,
                         std::span<const RowSegment<T>> below, std::int32_t first,
                         T* saved) {
  InnerRows<T> rows(inner, limit, bound, saved);
  const auto segment = [&](std::size_t k) {
    const RowSegment<T>& s = below[k];
    return RowSegment<T>{s.data + std::int64_t{first} * s.leading, s.leading, s.rows};
  };
  rows.apply(tail, products, ldp);
  for (std::size_t k = 0; k < below.size(); ++k) {
    const std::int32_t before = rows.limit();
    rows.apply(segment(k), nullptr, 0);
    if (rows.limit() == before) continue;
    rows.put_back(tail, before);
    for (std::size_t done = 0; done < k; ++done) rows.put_back(segment(done), before);
  }
  return rows.limit();
}

template <class T>
std::int32_t first_over(std::int32_t m, std::int32_t n, const T* a, std::int32_t ld,
                        double bound) {
  const RealOf<T> limit = in_precision<T>(bound);
  for (std::int32_t k = 0; k < n; ++k)
    if (!within(m, a + std::int64_t{k} * ld, limit)) return k;
  return n;
}

template <class T>
void divide_columns(std::int32_t m, std::int32_t n, const T* d, T* a, std::int32_t ld) {
  for (std::int32_t k = 0; k < n; ++k) {
    T* const x = a + std::int64_t{k} * ld;
    if (d[2 * k + 1] == T(0)) {
      divide(m, x, d[2 * k]);
      continue;
    }
    divide_pair(m, x, x + ld, d[2 * k], d[2 * k + 1], d[2 * k + 2]);
    ++k;
  }
}

template <class T>
std::int32_t first_over_divided(std::int32_t m, std::int32_t n, const T* d, const T* a,
                                std::int32_t ld, double bound) {
  const RealOf<T> limit = in_precision<T>(bound);
  for (std::int32_t k = 0; k < n; ++k) {
    const T* const x = a + std::int64_t{k} * ld;
    if (d[2 * k + 1] == T(0)) {
      if (!within_divided(m, x, d[2 * k], limit)) return k;
      continue;
    }
    if (!pair_within_divided(m, x, x + ld, d[2 * k], d[2 * k + 1], d[2 * k + 2], limit))
      return k;
    ++k;
  }
  return n;
}

#define ESPALIER_INSTANTIATE(T)                                                         \
  template std::int32_t apply_inner(const InnerFactor<T>&, std::int32_t, double,        \
                                    const RowSegment<T>&, T*, std::int32_t,             \
                                    std::span<const RowSegment<T>>, std::int32_t, T*);  \
  template std::int32_t first_over(std::int32_t, std::int32_t, const T*, std::int32_t,  \
                                   double);                                             \
  template void divide_columns(std::int32_t, std::int32_t, const T*, T*, std::int32_t); \
  template std::int32_t first_over_divided(std::int32_t, std::int32_t, const T*,        \
                                           const T*, std::int32_t, double);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver::kernels
