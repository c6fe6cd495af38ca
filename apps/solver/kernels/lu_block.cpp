#include <algorithm>
#include <cmath>

#include "solver/kernels/blas.h"
#include "solver/kernels/magnitude.h"
#include "solver/kernels/pivot_loop.h"
#include "solver/kernels/right_solve.h"
#include "solver/kernels/update.h"

namespace espalier::solver::kernels {
namespace {

template <class T>
class LuLoop : public PivotLoop<T> {
 public:
  using PivotLoop<T>::PivotLoop;

  // The rows of U^T right of the block, once it is factored.
  void finish_right(std::int32_t eliminated);

 protected:
  std::int32_t compose(std::int32_t first, std::int32_t end) override {
    return std::min(kInner, end - first);
  }
  std::int32_t eliminate(std::int32_t first, InnerFactor<T>& inner) override;
  void exchange_diagonal(std::int32_t p, std::int32_t q) override;
  RealOf<T> pivot_reach(std::int32_t j, std::int32_t done) const override;

 private:
  using PivotLoop<T>::at;
  using PivotLoop<T>::block_;

  void swap_rows(std::int32_t p, std::int32_t q);
  void store(std::int32_t first, std::int32_t kept, const InnerFactor<T>& inner,
             const T* panel, T* saved);
  void update(std::int32_t first, std::int32_t kept);
};

template <class T>
RealOf<T> LuLoop<T>::pivot_reach(std::int32_t j, std::int32_t done) const {
  return modulus<T>(largest_magnitude(block_.width - done, at(done, j)));
}

template <class T>
void LuLoop<T>::swap_rows(std::int32_t p, std::int32_t q) {
  for (std::int32_t j = 0; j < block_.width; ++j) std::swap(*at(p, j), *at(q, j));
  std::swap(block_.row_order[p], block_.row_order[q]);
}

template <class T>
void LuLoop<T>::exchange_diagonal(std::int32_t p, std::int32_t q) {
  std::swap_ranges(at(0, p), at(0, p) + block_.width, at(0, q));
  std::swap(block_.column_order[p], block_.column_order[q]);
  swap_rows(p, q);
}

template <class T>
std::int32_t LuLoop<T>::eliminate(std::int32_t first, InnerFactor<T>& inner) {
  const std::int32_t m = block_.width - first;
  T* const panel = this->scratch_.data();
  T* const saved = panel + std::int64_t{block_.width} * kInner;
  for (std::int32_t j = 0; j < inner.count; ++j)
    std::copy_n(at(first, first + j), m, panel + std::int64_t{j} * m);
  std::int32_t swaps[kInner];
  factor_inner_lu(inner, m, panel, m, this->rule_.tiny, preferred_part(this->rule_),
                  this->strictness_, this->replacement(), swaps);
  std::int32_t limit = inner.rank;
  for (std::int32_t k = 0; k < limit; ++k)  // entries that are not finite, above all
    if (first_over(m - k - 1, 1, panel + k + 1 + std::int64_t{k} * m, m, this->bound()) ==
        0)
      limit = k;
  const std::int32_t kept =
      apply_inner(inner, limit, this->bound(), {nullptr, 1, 0}, static_cast<T*>(nullptr),
                  0, block_.below, first, saved);
  for (std::int32_t k = 0; k < inner.rank; ++k)
    if (swaps[k] != k) swap_rows(first + k, first + swaps[k]);
  store(first, kept, inner, panel, saved);
  update(first, kept);
  return kept;
}

// Columns of the inner block in their new order, the kept ones factored.
template <class T>
void LuLoop<T>::store(std::int32_t first, std::int32_t kept, const InnerFactor<T>& inner,
                      const T* panel, T* saved) {
  const std::int32_t w = block_.width, m = w - first;
  std::int32_t places[kInner];
  std::copy_n(block_.column_order + first, inner.count, places);
  for (std::int32_t k = 0; k < inner.count; ++k)
    block_.column_order[first + k] = places[inner.order[k]];
  for (std::int32_t top = 0; top < w; top += kChunk) {
    const std::int32_t rows = std::min(kChunk, w - top);
    for (std::int32_t j = 0; j < inner.count; ++j)
      std::copy_n(at(top, first + j), rows, saved + j * kChunk);
    for (std::int32_t j = 0; j < inner.count; ++j)
      std::copy_n(saved + inner.order[j] * kChunk, rows, at(top, first + j));
  }
  for (std::int32_t j = 0; j < kept; ++j)
    std::copy_n(panel + std::int64_t{j} * m, m, at(first, first + j));
}

// Columns after the kept ones, in the diagonal block and below.
template <class T>
void LuLoop<T>::update(std::int32_t first, std::int32_t kept) {
  const std::int32_t next = first + kept, rest = block_.width - next;
  if (kept == 0 || rest == 0) return;
  const std::int32_t ld = block_.leading;
  T* const u = at(first, next);
  blas::trsm(CblasLeft, CblasLower, CblasNoTrans, CblasUnit, kept, rest, at(first, first),
             ld, u, ld);
  blas::gemm(CblasNoTrans, CblasNoTrans, rest, rest, kept, T(-1), at(next, first), ld, u,
             ld, T(1), at(next, next), ld);
  for (const RowSegment<T>& rows : block_.below)
    if (rows.rows > 0)
      blas::gemm(CblasNoTrans, CblasNoTrans, rows.rows, rest, kept, T(-1),
                 rows.data + std::int64_t{first} * rows.leading, rows.leading, u, ld,
                 T(1), rows.data + std::int64_t{next} * rows.leading, rows.leading);
}

template <class T>
void LuLoop<T>::finish_right(std::int32_t eliminated) {
  const std::int32_t w = block_.width, ld = block_.leading;
  const std::int32_t most =
      std::min<std::int32_t>(kChunk, std::int32_t(std::ssize(this->scratch_) / w));
  T* const copy = this->scratch_.data();
  std::int32_t same = 0;  // places in front that were not permuted
  while (same < w && block_.row_order[same] == same) ++same;
  for (const RowSegment<T>& rows : block_.right) {
    for (std::int32_t i = 0; same < w && i < rows.rows; i += most) {
      const std::int32_t m = std::min(most, rows.rows - i);
      T* const a = rows.data + i;
      for (std::int32_t j = same; j < w; ++j)
        std::copy_n(a + std::int64_t{j} * rows.leading, m, copy + std::int64_t{j} * m);
      for (std::int32_t j = same; j < w; ++j)
        std::copy_n(copy + std::int64_t{block_.row_order[j]} * m, m,
                    a + std::int64_t{j} * rows.leading);
    }
    solve_below_unit(rows.rows, eliminated, block_.diagonal, ld, rows.data, rows.leading);
    update_general(rows.rows, w - eliminated, eliminated, rows.data, rows.leading,
                   at(eliminated, 0), ld,
                   rows.data + std::int64_t{eliminated} * rows.leading, rows.leading);
  }
}

}  // namespace

template <class T>
PivotCounts factor_lu_block(const PivotBlock<T>& block, const PivotRule& rule,
                            std::span<T> scratch) {
  for (std::int32_t k = 0; k < block.width; ++k) block.column_order[k] = k;
  LuLoop<T> loop(block, rule, scratch);
  const PivotCounts counts = loop.run();
  if (block.width > 0) loop.finish_right(counts.eliminated);
  return counts;
}

#define ESPALIER_INSTANTIATE(T)                                                \
  template PivotCounts factor_lu_block(const PivotBlock<T>&, const PivotRule&, \
                                       std::span<T>);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver::kernels
