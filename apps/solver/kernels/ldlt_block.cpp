#include <algorithm>
#include <cmath>

#include "solver/kernels/magnitude.h"
#include "solver/kernels/pivot_loop.h"
#include "solver/kernels/update.h"

namespace espalier::solver::kernels {
namespace {

constexpr double kWeak =
    0.64;  // a diagonal entry under this part of its row wants a pair

template <class T>
class LdltLoop : public PivotLoop<T> {
 public:
  using PivotLoop<T>::PivotLoop;

 protected:
  std::int32_t compose(std::int32_t first, std::int32_t end) override;
  std::int32_t eliminate(std::int32_t first, InnerFactor<T>& inner) override;
  void exchange_diagonal(std::int32_t p, std::int32_t q) override;
  RealOf<T> pivot_reach(std::int32_t j, std::int32_t done) const override;

 private:
  using PivotLoop<T>::at;
  using PivotLoop<T>::block_;
  using PivotLoop<T>::counts_;

  // Entry (i, j) of the symmetric matrix.
  T entry(std::int32_t i, std::int32_t j) const {
    return i < j ? across(*at(j, i)) : *at(i, j);
  }
  // Off-diagonal row of the largest entry of column j among places first .. end - 1; j if
  // there is none.
  std::int32_t partner(std::int32_t j, std::int32_t first, std::int32_t end) const;
  void load(std::int32_t first, InnerFactor<T>& inner) const;
  void store(std::int32_t first, std::int32_t kept, const InnerFactor<T>& inner,
             const T* square);
  void update(std::int32_t first, std::int32_t kept, const T* products, std::int32_t ldp);
  void count(std::int32_t first, std::int32_t kept, const InnerFactor<T>& inner);
};

template <class T>
std::int32_t LdltLoop<T>::partner(std::int32_t j, std::int32_t first,
                                  std::int32_t end) const {
  std::int32_t best = j;
  RealOf<T> largest = 0;
  for (std::int32_t i = first; i < end; ++i) {
    if (i == j) continue;
    const RealOf<T> size = size_of(entry(i, j));
    if (size > largest) largest = size, best = i;
  }
  return best;
}

// Columns in the order they stand, those with weak diagonal entries followed by the row
// of their largest entry.
template <class T>
std::int32_t LdltLoop<T>::compose(std::int32_t first, std::int32_t end) {
  const std::int32_t most = std::min(kInner, end - first);
  for (std::int32_t k = 0; k + 1 < most; ++k) {
    const std::int32_t j = first + k, other = partner(j, first, end);
    if (size_of(entry(j, j)) >= kWeak * size_of(entry(other, j))) continue;
    if (other < j) continue;
    if (other > j + 1) this->exchange(j + 1, other);
    ++k;
  }
  return most;
}

template <class T>
RealOf<T> LdltLoop<T>::pivot_reach(std::int32_t j, std::int32_t done) const {
  const std::int32_t other = partner(j, done, block_.width);
  const RealOf<T> own = size_of(entry(j, j));
  return other == j ? own : own + size_of(entry(other, j));
}

template <class T>
void LdltLoop<T>::exchange_diagonal(std::int32_t p, std::int32_t q) {
  const std::int32_t w = block_.width;
  for (std::int32_t j = 0; j < p; ++j) std::swap(*at(p, j), *at(q, j));
  for (std::int32_t i = p + 1; i < q; ++i) {
    std::swap(*at(i, p), *at(q, i));
    *at(i, p) = across(*at(i, p));
    *at(q, i) = across(*at(q, i));
  }
  *at(q, p) = across(*at(q, p));
  for (std::int32_t i = q + 1; i < w; ++i) std::swap(*at(i, p), *at(i, q));
  std::swap(*at(p, p), *at(q, q));
  std::swap(block_.row_order[p], block_.row_order[q]);
}

template <class T>
void LdltLoop<T>::load(std::int32_t first, InnerFactor<T>& inner) const {
  for (std::int32_t j = 0; j < inner.count; ++j)
    for (std::int32_t i = j; i < inner.count; ++i) {
      inner.lower[i + j * kInner] = *at(first + i, first + j);
      inner.lower[j + i * kInner] = across(inner.lower[i + j * kInner]);
    }
}

template <class T>
std::int32_t LdltLoop<T>::eliminate(std::int32_t first, InnerFactor<T>& inner) {
  T square[kInner * kInner];
  load(first, inner);
  for (std::int32_t j = 0; j < inner.count; ++j)
    std::copy_n(inner.lower + j * kInner, inner.count, square + j * kInner);
  factor_inner_ldlt(inner, this->rule_.tiny, this->strictness_, this->replacement());
  const std::int32_t over =
      first_over(inner.count, inner.rank, inner.lower, kInner, this->bound());
  const std::int32_t limit = over < inner.rank ? inner.pivot_begin(over) : over;

  const std::int32_t rest = block_.width - first, ldp = rest;
  T* const products = this->scratch_.data();
  T* const saved = products + std::int64_t{block_.width} * kInner;
  const RowSegment<T> tail{at(first + inner.count, first), block_.leading,
                           rest - inner.count};
  const std::int32_t kept =
      apply_inner(inner, limit, this->bound(), tail, products + inner.count, ldp,
                  block_.below, first, saved);
  for (std::int32_t k = 0; k < kept; ++k)
    for (std::int32_t i = 0; i < inner.count; ++i)
      products[i + std::int64_t{k} * ldp] = across(inner.upper[k + i * kInner]);
  store(first, kept, inner, square);
  count(first, kept, inner);
  update(first, kept, products, ldp);
  return kept;
}

// The inner block: L, then the columns that are not eliminated; rows of L to its left and
// the order likewise permuted.
template <class T>
void LdltLoop<T>::store(std::int32_t first, std::int32_t kept,
                        const InnerFactor<T>& inner, const T* square) {
  for (std::int32_t j = 0; j < inner.count; ++j)
    for (std::int32_t i = j; i < inner.count; ++i)
      *at(first + i, first + j) = j < kept
                                      ? inner.lower[i + j * kInner]
                                      : square[inner.order[i] + inner.order[j] * kInner];
  T row[kInner];
  for (std::int32_t j = 0; j < first; ++j) {
    T* const column = at(first, j);
    std::copy_n(column, inner.count, row);
    for (std::int32_t i = 0; i < inner.count; ++i) column[i] = row[inner.order[i]];
  }
  std::int32_t places[kInner];
  std::copy_n(block_.row_order + first, inner.count, places);
  for (std::int32_t i = 0; i < inner.count; ++i)
    block_.row_order[first + i] = places[inner.order[i]];
}

// Columns after the kept ones, everywhere: C -= L (L D)^T.
template <class T>
void LdltLoop<T>::update(std::int32_t first, std::int32_t kept, const T* products,
                         std::int32_t ldp) {
  const std::int32_t next = first + kept, rest = block_.width - next;
  if (kept == 0 || rest == 0) return;
  update_lower_product(rest, rest, kept, at(next, first), block_.leading, products + kept,
                       ldp, at(next, next), block_.leading);
  for (const RowSegment<T>& rows : block_.below)
    update_general(rows.rows, rest, kept, rows.data + std::int64_t{first} * rows.leading,
                   rows.leading, products + kept, ldp,
                   rows.data + std::int64_t{next} * rows.leading, rows.leading);
}

template <class T>
void LdltLoop<T>::count(std::int32_t first, std::int32_t kept,
                        const InnerFactor<T>& inner) {
  std::copy_n(inner.d, 2 * kept, block_.d + 2 * first);
  for (std::int32_t k = 0; k < kept; ++k) {
    if (inner.d[2 * k + 1] == T(0)) {
      counts_.negative += is_negative(inner.d[2 * k]);
      counts_.negative_perturbed += inner.perturbed[k] && is_negative(inner.d[2 * k]);
      continue;
    }
    counts_.negative += kHasInertia<T>;  // complete pivoting takes indefinite pairs only
    ++counts_.two_by_two;
    ++k;
  }
}

}  // namespace

template <class T>
PivotCounts factor_ldlt_block(const PivotBlock<T>& block, const PivotRule& rule,
                              std::span<T> scratch) {
  std::fill_n(block.d, 2 * block.width, T(0));
  return LdltLoop<T>(block, rule, scratch).run();
}

#define ESPALIER_INSTANTIATE(T)                                                  \
  template PivotCounts factor_ldlt_block(const PivotBlock<T>&, const PivotRule&, \
                                         std::span<T>);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver::kernels
