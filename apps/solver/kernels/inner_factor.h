#pragma once

// The inner block of columns that factor_pivot_block() eliminates at a time, and its
// application to rows. Private to the kernels.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "solver/kernels/pivot_block.h"
#include "solver/matrix/entry.h"

namespace espalier::solver::kernels {

inline constexpr std::int32_t kInner = 32;   ///< columns of an inner block
inline constexpr std::int32_t kChunk = 512;  ///< rows applied at a time
inline constexpr std::int32_t kNarrow = 16;  ///< columns of a narrow block at most

/// (1 + sqrt 17) / 8: bounds the growth of a 2 x 2 step by that of two 1 x 1 [BP71].
inline constexpr double kAlpha = 0.6403882032022076;

/// How far a block gives way so that columns get eliminated.
enum class Strictness : std::int8_t {
  kThreshold,  ///< pivots over `tiny` whose column of L stays within the bound
  kNonzero,    ///< pivots over `tiny`
  kForced,     ///< every column; small pivots are replaced
};

/// Factored inner block: the rows A under it, columns gathered by `order`, satisfy
/// A = L upper on the first `rank` columns.
template <class T>
struct InnerFactor {
  std::int32_t count = 0;      ///< columns
  std::int32_t rank = 0;       ///< pivots found; they come first
  std::int32_t order[kInner];  ///< the column now at place k was at place order[k]
  bool perturbed[kInner];
  double size[kInner];  ///< sizes (size_of) of pivots, as PivotCounts::smallest; of 2 x
                        ///< 2: both
  bool symmetric = false;    ///< LDL^T: upper = D lower^T
  T d[2 * kInner];           ///< LDL^T, as PivotBlock::d
  T lower[kInner * kInner];  ///< LDL^T: unit lower; ld kInner, columns up to rank
  T upper[kInner * kInner];  ///< ld kInner, rows up to rank, zeros below the pivots

  /// The column at which the pivot of column k begins.
  [[nodiscard]] std::int32_t pivot_begin(std::int32_t k) const {
    return symmetric && k > 0 && d[2 * k - 1] != T(0) ? k - 1 : k;
  }
};

/// B := A, m x n.
template <class T>
void copy_columns(std::int32_t m, std::int32_t n, const T* a, std::int64_t lda, T* b,
                  std::int64_t ldb) {
  for (std::int32_t j = 0; j < n; ++j) std::copy_n(a + j * lda, m, b + j * ldb);
}

/// A bound that may be beyond all numbers of the precision.
template <class T>
[[nodiscard]] RealOf<T> in_precision(double bound) {
  using Real = RealOf<T>;
  return Real(std::min(bound, double(std::numeric_limits<Real>::max())));
}

/// Rows of segments := what divide(segment, side) makes of them there, column-major with
/// as many rows as the segment has, if it says of each that it is good.
/// @param scratch  room for all of them; with less they are not good either
/// @return whether all were; else they are as before
template <class T, class Divide>
[[nodiscard]] bool divide_rows(std::span<const RowSegment<T>> segments,
                               std::int32_t columns, std::span<T> scratch,
                               const Divide& divide) {
  std::int64_t room = std::ssize(scratch);
  for (const RowSegment<T>& rows : segments) room -= std::int64_t{columns} * rows.rows;
  if (room < 0) return false;
  T* side = scratch.data();
  for (const RowSegment<T>& rows : segments) {
    if (!divide(rows, side)) return false;
    side += std::int64_t{columns} * rows.rows;
  }
  side = scratch.data();
  for (const RowSegment<T>& rows : segments) {
    copy_columns(rows.rows, columns, side, rows.rows, rows.data, rows.leading);
    side += std::int64_t{columns} * rows.rows;
  }
  return true;
}

/// Factors the symmetric matrix in inner.lower (full square, order inner.count) with
/// complete pivoting [BP71]; fills in the rest of `inner`. Stops before the first zero
/// pivot, or replaces it by `replacement` with its sign where forced. Stops at an entry
/// that is not finite.
template <class T>
void factor_inner_ldlt(InnerFactor<T>& inner, double tiny, Strictness strictness,
                       RealOf<T> replacement);

/// Factors the m x inner.count panel with partial pivoting; the entry on the diagonal is
/// taken where it is at least `prefer` times the largest of its column. Zero columns go
/// last. On return the first rank columns of the panel hold unit lower L.
///
/// @param row_swaps  for each pivot k, the row exchanged with row k, at least k
template <class T>
void factor_inner_lu(InnerFactor<T>& inner, std::int32_t m, T* panel, std::int32_t ld,
                     double tiny, double prefer, Strictness strictness,
                     RealOf<T> replacement, std::int32_t* row_swaps);

/// Permutes the columns of the rows by inner.order and replaces the first `limit` by
/// those of L, if they are within the bound.
///
/// @param rows   segments whose data point at the first column of the inner block
/// @param first  offset of that column in the `below` segments, whose data do not
/// @param products  m x kInner: receives L D for the rows of `tail` (LDL^T), or null
/// @param saved  kChunk x kInner entries of scratch
/// @return columns kept, at most limit: before the first with an entry over the bound or
///         not finite; the others hold the permuted entries of before
template <class T>
std::int32_t apply_inner(const InnerFactor<T>& inner, std::int32_t limit, double bound,
                         const RowSegment<T>& tail, T* products, std::int32_t ldp,
                         std::span<const RowSegment<T>> below, std::int32_t first,
                         T* saved);

/// The first of n columns with an entry over the bound or not finite, or n.
template <class T>
std::int32_t first_over(std::int32_t m, std::int32_t n, const T* a, std::int32_t ld,
                        double bound);

/// A := A D^-1; A is m x n, d as in PivotBlock::d and not cutting a 2 x 2 pivot.
template <class T>
void divide_columns(std::int32_t m, std::int32_t n, const T* d, T* a, std::int32_t ld);

/// The first column of A D^-1 with an entry over the bound or not finite, or n: of a 2 x
/// 2 pivot the first of its two. Leaves A as it is.
template <class T>
std::int32_t first_over_divided(std::int32_t m, std::int32_t n, const T* d, const T* a,
                                std::int32_t ld, double bound);

/// Lower bound of the smaller singular value of [[a, b'], [b, c]], b the largest of them
/// and b' across(b).
template <class T>
double singular_bound(T a, T b, T c);

}  // namespace espalier::solver::kernels
