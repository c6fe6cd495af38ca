#include "solver/kernels/row_tiles.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "espalier/model/error.h"
#include "solver/kernels/blas.h"
#include "solver/kernels/inner_factor.h"
#include "solver/kernels/right_solve.h"
#include "solver/kernels/update.h"

namespace espalier::solver::kernels {
namespace {

constexpr std::int32_t kLeaf =
    64;  // columns that are solved for, tested and kept at once

template <class T>
const T* entry(const PivotBlock<T>& block, std::int32_t i, std::int32_t j) {
  return block.diagonal + i + std::int64_t{j} * block.leading;
}

// Columns before k, without the first of a 2 x 2 pivot that k would cut.
template <class T>
std::int32_t whole_pivots(FactorKind kind, const PivotBlock<T>& block, std::int32_t k) {
  return kind == FactorKind::kLdlt && k > 0 && block.d[2 * k - 1] != T(0) ? k - 1 : k;
}

/// Which triangle of the diagonal block rows are multiplied by.
enum class Factor : std::int8_t { kLowerTransposed, kUpper };

Factor factor_of(FactorKind kind) {
  return kind == FactorKind::kLu ? Factor::kUpper : Factor::kLowerTransposed;
}

// C += sign A B, where A is m x k and B the rows [first, first + k) of the factor in its
// columns [begin, begin + n).
template <class T>
void add_product(Factor factor, const PivotBlock<T>& block, T sign, std::int32_t m,
                 std::int32_t n, std::int32_t k, const T* a, std::int32_t first,
                 std::int32_t begin, T* c, std::int32_t ld) {
  if (m == 0 || n == 0 || k == 0) return;
  const bool upper = factor == Factor::kUpper;
  blas::gemm(CblasNoTrans, upper ? CblasNoTrans : blas::kAcross<T>, m, n, k, sign, a, ld,
             upper ? entry(block, first, begin) : entry(block, begin, first),
             block.leading, T(1), c, ld);
}

// Columns [to, from) of rows are those of A F^-1, F the factor: puts back A, and in the
// columns after them adds what their elimination took away.
template <class T>
void multiply_back(Factor factor, const PivotBlock<T>& block, std::int32_t from,
                   std::int32_t to, const RowSegment<T>& rows) {
  const std::int32_t m = rows.rows, n = from - to, ld = rows.leading;
  if (m == 0 || n == 0) return;
  T* const a = rows.data + std::int64_t{to} * ld;
  add_product(factor, block, T(1), m, block.width - from, n, a, to, from,
              a + std::int64_t{n} * ld, ld);
  const bool upper = factor == Factor::kUpper;
  blas::trmm(upper ? CblasUpper : CblasLower, upper ? CblasNoTrans : blas::kAcross<T>,
             upper ? CblasNonUnit : CblasUnit, m, n, entry(block, to, to), block.leading,
             a, ld);
}

// The same for rows of L.
template <class T>
void multiply_back(FactorKind kind, const PivotBlock<T>& block, std::int32_t from,
                   std::int32_t to, const RowSegment<T>& rows) {
  T* const a = rows.data + std::int64_t{to} * rows.leading;
  if (kind == FactorKind::kLdlt && from > to)
    multiply_by_d(rows.rows, from - to, a, rows.leading, block.d + 2 * to, a,
                  rows.leading);
  multiply_back(factor_of(kind), block, from, to, rows);
}

// Some rows of A, whose columns become those of L D (LDL^T) or L from left to right, as
// long as those of L are within the bound.
template <class T>
class TestedSolve {
 public:
  TestedSolve(FactorKind kind, const PivotBlock<T>& block, double bound, std::int32_t m,
              T* a, std::int32_t ld, T* saved)
      : kind_(kind), block_(block), bound_(bound), m_(m), a_(a), ld_(ld), saved_(saved) {}

  // Columns [begin, end), updated by those before begin. @return how many from column 0
  // on are within the bound; the others up to `end` are updated by these
  std::int32_t solve(std::int32_t begin, std::int32_t end) {
    if (end - begin <= kLeaf) return solve_leaf(begin, end);
    const std::int32_t half = (((end - begin) / 2 + 7) / 8) * 8;
    const std::int32_t middle = whole_pivots(kind_, block_, begin + half);
    const std::int32_t kept = solve(begin, middle);
    update(begin, kept, middle, end);
    return kept < middle ? kept : solve(middle, end);
  }

  // Columns [first, last) by the columns [begin, end).
  void update(std::int32_t begin, std::int32_t end, std::int32_t first,
              std::int32_t last) {
    add_product(factor_of(kind_), block_, T(-1), m_, last - first, end - begin,
                column(begin), begin, first, column(first), ld_);
  }

 private:
  [[nodiscard]] T* column(std::int32_t j) const { return a_ + std::int64_t{j} * ld_; }

  std::int32_t solve_leaf(std::int32_t begin, std::int32_t end) {
    const std::int32_t n = end - begin;
    for (std::int32_t j = 0; j < n; ++j)
      std::copy_n(column(begin + j), m_, saved_ + std::int64_t{j} * m_);
    const bool lu = kind_ == FactorKind::kLu;
    const auto solve_leaf_rows = lu ? solve_by_upper<T> : solve_below_unit<T>;
    solve_leaf_rows(m_, n, entry(block_, begin, begin), block_.leading, column(begin),
                    ld_);
    const std::int32_t good =
        lu ? first_over(m_, n, column(begin), ld_, bound_)
           : first_over_divided(m_, n, block_.d + 2 * begin, column(begin), ld_, bound_);
    for (std::int32_t j = good; j < n; ++j)
      std::copy_n(saved_ + std::int64_t{j} * m_, m_, column(begin + j));
    update(begin, begin + good, begin + good, end);
    return begin + good;
  }

  FactorKind kind_;
  const PivotBlock<T>& block_;
  double bound_;
  std::int32_t m_;
  T* a_;
  std::int32_t ld_;
  T* saved_;
};

// Columns in the order of the block, so many rows at a time as fit.
template <class T>
void gather_columns(const RowSegment<T>& rows, const std::int32_t* order,
                    std::int32_t width, std::span<T> scratch) {
  std::int32_t same = 0;  // places in front that were not permuted
  while (same < width && order[same] == same) ++same;
  if (same == width) return;
  const auto most = static_cast<std::int32_t>(std::ssize(scratch) / width);
  for (std::int32_t i = 0; i < rows.rows; i += most) {
    const std::int32_t m = std::min(most, rows.rows - i);
    T* const a = rows.data + i;
    for (std::int32_t j = same; j < width; ++j)
      std::copy_n(a + std::int64_t{j} * rows.leading, m,
                  scratch.data() + std::int64_t{j} * m);
    for (std::int32_t j = same; j < width; ++j)
      std::copy_n(scratch.data() + std::int64_t{order[j]} * m, m,
                  a + std::int64_t{j} * rows.leading);
  }
}

// The diagonal block, from the last column on: what a column needs of those before it is
// there until their turn.
template <class T>
void put_back_lu_diagonal(const PivotBlock<T>& block, std::int32_t from, std::int32_t to,
                          T* u) {
  const std::int32_t w = block.width, ld = block.leading;
  for (std::int32_t j = w; j-- > to;) {
    T* const column = block.diagonal + std::int64_t{j} * ld;
    const std::int32_t end = std::min(j + 1, from);  // rows of U in the column
    for (std::int32_t k = to; k < end; ++k) u[k - to] = -column[k];
    if (j < from)
      for (std::int32_t i = end; i < w; ++i) column[i] *= column[j];
    blas::gemv(CblasNoTrans, w - end, std::min(j, from) - to, entry(block, end, to), ld,
               u, column + end);
    blas::trmv(end - to, entry(block, to, to), ld, u);
    for (std::int32_t k = to; k < end; ++k) column[k] = -u[k - to];
  }
}

// Likewise, pivot by pivot: u is a row of L D, `own` what the pivot has of L.
template <class T>
void put_back_ldlt_diagonal(const PivotBlock<T>& block, std::int32_t from,
                            std::int32_t to, T* u) {
  const std::int32_t w = block.width, ld = block.leading;
  T* const own = u + w;
  for (std::int32_t end = w, begin = 0; end > to; end = begin) {
    const bool pivot = end <= from;
    begin = pivot ? whole_pivots(FactorKind::kLdlt, block, end - 1) : end - 1;
    const std::int32_t before = std::min(begin, from), used = std::min(end, from);
    for (std::int32_t k = begin; pivot && k < end; ++k) {
      std::copy(entry(block, end, k), entry(block, w, k), own + (k - begin) * w + end);
      for (std::int32_t i = begin; i < end; ++i) own[(k - begin) * w + i] = i == k;
    }
    for (std::int32_t j = begin; j < end; ++j) {
      T* const column = block.diagonal + std::int64_t{j} * ld;
      for (std::int32_t k = to; k < used; ++k)
        u[k - to] = k < begin ? *entry(block, j, k) : T(k == j);
      multiply_by_d(1, used - to, u, 1, block.d + 2 * to, u, 1);
      for (std::int32_t k = to; k < used; ++k) u[k - to] = across(u[k - to]);
      if (pivot) std::fill(column + j, column + w, T(0));
      for (std::int32_t k = begin; pivot && k < end; ++k)
        for (std::int32_t i = j; i < w; ++i)
          column[i] += u[k - to] * own[(k - begin) * w + i];
      for (std::int32_t k = to; k < before; ++k) u[k - to] = -u[k - to];
      blas::gemv(CblasNoTrans, w - j, before - to, entry(block, j, to), ld, u,
                 column + j);
    }
  }
  std::fill(block.d + 2 * to, block.d + 2 * from, T(0));
}

}  // namespace

template <class T>
std::int32_t solve_rows(FactorKind kind, const PivotBlock<T>& block,
                        std::int32_t eliminated, double threshold,
                        const RowSegment<T>& rows,
                        std::span<std::type_identity_t<T>> scratch) {
  ESPALIER_ASSERT(kind != FactorKind::kCholesky, "Cholesky tests nothing");
  ESPALIER_ASSERT(std::ssize(scratch) >= pivot_scratch(kind, block.width),
                  "scratch is short");
  const bool ldlt = kind == FactorKind::kLdlt;
  gather_columns(rows, ldlt ? block.row_order : block.column_order, block.width, scratch);
  // By the block and not by what the caller has: bits follow how rows are parted.
  const auto most = static_cast<std::int32_t>(pivot_scratch(kind, block.width) / kLeaf);
  std::int32_t kept = eliminated;
  for (std::int32_t i = 0; i < rows.rows; i += most) {
    const std::int32_t m = std::min(most, rows.rows - i), before = kept;
    T* const a = rows.data + i;
    TestedSolve<T> tested(kind, block, 1 / threshold, m, a, rows.leading, scratch.data());
    kept = tested.solve(0, before);
    tested.update(0, kept, before, block.width);
    if (ldlt) divide_columns(m, kept, block.d, a, rows.leading);
    if (kept < before)
      multiply_back(kind, block, before, kept, RowSegment<T>{rows.data, rows.leading, i});
  }
  return kept;
}

template <class T>
void solve_right_rows(const PivotBlock<T>& block, std::int32_t eliminated,
                      const RowSegment<T>& rows,
                      std::span<std::type_identity_t<T>> scratch) {
  gather_columns(rows, block.row_order, block.width, scratch);
  solve_below_unit(rows.rows, eliminated, block.diagonal, block.leading, rows.data,
                   rows.leading);
  update_general(rows.rows, block.width - eliminated, eliminated, rows.data, rows.leading,
                 entry(block, eliminated, 0), block.leading,
                 rows.data + std::int64_t{eliminated} * rows.leading, rows.leading);
}

template <class T>
void put_back(FactorKind kind, const PivotBlock<T>& block, std::int32_t eliminated,
              std::span<const std::int32_t> kept, std::int32_t to,
              std::span<std::type_identity_t<T>> scratch) {
  ESPALIER_ASSERT(std::ssize(scratch) >= std::int64_t{3} * block.width,
                  "scratch is short");
  ESPALIER_ASSERT(kept.size() == block.below.size(), "a count for each segment");
  for (std::size_t k = 0; k < kept.size(); ++k)
    multiply_back(kind, block, kept[k], to, block.below[k]);
  for (const RowSegment<T>& rows : block.right)
    multiply_back(Factor::kLowerTransposed, block, eliminated, to, rows);
  if (kind == FactorKind::kLu)
    put_back_lu_diagonal(block, eliminated, to, scratch.data());
  else
    put_back_ldlt_diagonal(block, eliminated, to, scratch.data());
}

template <class T>
PivotCounts count_pivots(FactorKind kind, const PivotBlock<T>& block,
                         std::int32_t columns) {
  PivotCounts counts;
  counts.eliminated = columns;
  const auto add = [&](double size) {
    counts.smallest = std::min(counts.smallest, size);
  };
  for (std::int32_t k = 0; k < columns; ++k) {
    if (kind == FactorKind::kLu) {
      add(double(size_of(*entry(block, k, k))));
      continue;
    }
    const T* const d = block.d + 2 * k;
    if (d[1] == T(0)) {
      counts.negative += is_negative(d[0]);
      add(double(size_of(d[0])));
      continue;
    }
    counts.negative += kHasInertia<T>;  // complete pivoting takes indefinite pairs only
    ++counts.two_by_two;
    add(singular_bound(d[0], d[1], d[2]));
    ++k;
  }
  return counts;
}

#define ESPALIER_INSTANTIATE(T)                                                      \
  template std::int32_t solve_rows(FactorKind, const PivotBlock<T>&, std::int32_t,   \
                                   double, const RowSegment<T>&, std::span<T>);      \
  template void solve_right_rows(const PivotBlock<T>&, std::int32_t,                 \
                                 const RowSegment<T>&, std::span<T>);                \
  template void put_back(FactorKind, const PivotBlock<T>&, std::int32_t,             \
                         std::span<const std::int32_t>, std::int32_t, std::span<T>); \
  template PivotCounts count_pivots(FactorKind, const PivotBlock<T>&, std::int32_t);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver::kernels
