#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solver/matrix/sparse_matrix.h"
#include "solver/matrix/unset_vector.h"

namespace espalier::solver {

/// Structure of the factor L of a permuted matrix, by fronts (relaxed supernodes).
///
/// Columns and rows are numbered in elimination order ("new"); permutation[new] = old.
/// Front s eliminates the columns [first_column[s], first_column[s+1]), its pivots. Its
/// rows are those columns followed by rows_of(s), the rows of its contribution block,
/// which are increasing and all >= first_column[s+1].
///
///   example: A tridiagonal of order 4, natural order, no relaxation
///   fronts   {0} {1} {2,3}     first_column = 0 1 2 4
///   rows_of  {1} {2} {}        parent       = 1 2 -1
///
/// Fronts are numbered in a postorder of the assembly tree: children first, every subtree
/// contiguous. The parent of s is the front that eliminates the first of rows_of(s), or
/// one before it that has all of rows_of(s): bundle_siblings(). A front without rows has
/// no parent, or one like that.
///
/// Variables may be kept (keep_variables()): they are the last ones, from inner() on, and
/// no front eliminates them. The last front then has no pivot and all of them as rows; it
/// is the parent of every other front that would have none, and its contribution block is
/// what elimination adds to the kept variables' part of A.
struct Symbolic {
  std::int32_t size = 0;                   ///< order of the matrix
  std::vector<std::int32_t> permutation;   ///< permutation[new] = old
  std::vector<std::int32_t> first_column;  ///< fronts + 1
  std::vector<std::int64_t> row_start;     ///< fronts + 1 offsets into rows
  UnsetVector<std::int32_t> rows;          ///< rows of the contribution blocks
  std::vector<std::int32_t> parent;        ///< of each front; -1: a root
  /// Nonzeros of L before amalgamation; all of it where a few columns are one front.
  std::int64_t factor_entries = 0;
  double factor_flops = 0;  ///< sum of squared column counts of L, likewise

  [[nodiscard]] std::int32_t fronts() const {
    return static_cast<std::int32_t>(parent.size());
  }
  /// Columns that are eliminated.
  [[nodiscard]] std::int32_t inner() const {
    return first_column.empty() ? size : first_column.back();
  }
  /// Variables that are not.
  [[nodiscard]] std::int32_t kept() const { return size - inner(); }
  /// Whether an independent system ends with this front: what finds no pivot here finds
  /// none above.
  [[nodiscard]] bool ends_system(std::int32_t front) const {
    const auto below = rows_of(front);
    return below.empty() || below.front() >= inner();
  }
  [[nodiscard]] std::int32_t pivots(std::int32_t front) const {
    return first_column[front + 1] - first_column[front];
  }
  [[nodiscard]] std::span<const std::int32_t> rows_of(std::int32_t front) const {
    return std::span(rows).subspan(row_start[front],
                                   row_start[front + 1] - row_start[front]);
  }
  /// Rows and columns of the dense front: its pivots and its contribution block.
  [[nodiscard]] std::int32_t front_order(std::int32_t front) const {
    return pivots(front) +
           static_cast<std::int32_t>(row_start[front + 1] - row_start[front]);
  }
};

}  // namespace espalier::solver
