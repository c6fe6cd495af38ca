#pragma once

// Pivots of one block column of a front, found inside its diagonal block and tested
// against every row of the block column.

#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "solver/matrix/matrix_kind.h"

namespace espalier::solver::kernels {

/// Rows of a block column: rows x width, column-major. Segments do not overlap.
template <class T>
struct RowSegment {
  T* data;
  std::int32_t leading, rows;
};

/// One block column, in place.
///
/// Cholesky and LDL^T read and write the lower triangle of `diagonal` only. Order arrays
/// are written in full by every kind that uses them, whatever was eliminated; others may
/// be null.
template <class T>
struct PivotBlock {
  std::int32_t width;                    ///< w
  T* diagonal;                           ///< w x w, column-major
  std::int32_t leading;                  ///< of `diagonal`
  std::span<const RowSegment<T>> below;  ///< rows of L under the diagonal block
  /// LU only: U right of the block, transposed: columns of U as rows of w entries.
  std::span<const RowSegment<T>> right;
  /// w, LDL^T and LU: the row now at place k was at place row_order[k].
  std::int32_t* row_order;
  std::int32_t* column_order;  ///< w, LU: likewise for columns
  /// 2 w, LDL^T: d[2k] = D(k,k); d[2k+1] = D(k+1,k) where a 2 x 2 pivot begins at k,
  /// else 0. Entries of columns that are not eliminated are 0.
  T* d;
};

struct PivotRule {
  /// u in (0, 1]: accepted pivots give |l_ij| <= 1/u over all rows, of the diagonal block
  /// and of every segment (LU: L only).
  double threshold = 0.01;
  /// A pivot whose modulus (2 x 2: a lower bound of its smaller singular value) is not
  /// over this is a zero pivot: not taken, or replaced where every column must go.
  double tiny = 0;
  /// Static pivoting: every column is eliminated. Those that pass the threshold go first,
  /// then those with pivots over `tiny`, then the others, with pivots replaced by
  /// +-replacement (0: by +-tiny; if that is 0: by the precision's epsilon times the
  /// block's largest entry, by 1 for a zero block).
  bool take_all = false;
  double replacement = 0;
};

struct PivotCounts {
  std::int32_t eliminated = 0;  ///< columns; they come first in the block
  std::int32_t perturbed = 0;   ///< pivots replaced (static pivoting)
  std::int32_t negative = 0;    ///< LDL^T: negative eigenvalues of D
  /// Of these, replaced ones: where they stand for zeros their sign is rounding's.
  std::int32_t negative_perturbed = 0;
  std::int32_t two_by_two = 0;  ///< LDL^T: 2 x 2 pivots, two columns each
  /// LDL^T, LU: least modulus of a pivot that was taken as it is (2 x 2: a lower bound of
  /// its smaller singular value); infinite: there was none.
  double smallest = std::numeric_limits<double>::infinity();
};

/// Factors a block column in place.
///
/// Let e = eliminated. The first e columns, after a permutation of rows and columns
/// within the block, are those of L: unit lower for LDL^T and LU (LDL^T writes the ones
/// and the zeros under 2 x 2 pivots' ones; LU keeps U in the upper triangle of the
/// diagonal block and, transposed, in `right`); Cholesky has its diagonal. The other
/// columns stand last, updated by the e eliminated ones on both sides: the block's
/// Schur complement. LU permutes the rows of `diagonal` like the columns of `right`, the
/// columns of `diagonal` like those of `below`; LDL^T permutes the block symmetrically,
/// and `below` with it.
///
/// LDL^T and LU eliminate inner blocks of columns a posteriori [DHL20]: the inner block
/// is factored first (LDL^T: complete pivoting [BP71]), then applied to all rows; columns
/// up to the first entry of L over 1/u are kept, and the rest is put back: exactly in the
/// inner block (LU: the diagonal block) and in the chunk of rows that failed; in rows
/// already passed as L times the upper factor, with a rounding error of order epsilon/u
/// times that factor. Columns that fail are tried again as long as others are eliminated;
/// one may stay although another choice of pairs would have taken it.
///
/// Cholesky: e < w means that column e has no positive finite pivot; columns before it
/// are factored in the diagonal block, `below` and the rest of the block are not
/// specified then. A column with entries that are not finite is never eliminated, except
/// by Cholesky if none of them reaches its diagonal block.
///
/// @param scratch  pivot_scratch(kind, width) entries; contents do not matter
/// @par Cost  w^2 (rows of below and right) + O(w^3) flops; each round of failures adds
///            at most (w / inner) times inner^2 rows
template <class T>
PivotCounts factor_pivot_block(FactorKind kind, const PivotBlock<T>& block,
                               const PivotRule& rule,
                               std::span<std::type_identity_t<T>> scratch);

/// Entries of scratch that factor_pivot_block() needs for a block of this width.
[[nodiscard]] std::int64_t pivot_scratch(FactorKind kind, std::int32_t width);

}  // namespace espalier::solver::kernels
