#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solver/ordering/lower_rows.h"
#include "solver/threads/task_pool.h"

namespace espalier::solver {

/// Elimination tree of a symmetric matrix [Liu90]: the parent of column j is the row of
/// the first nonzero below the diagonal in column j of L; -1: a root. A parent is greater
/// than its children.
///
/// @par Cost  O(nonzeros log n) time by path compression, O(n) memory
[[nodiscard]] std::vector<std::int32_t> elimination_tree(const LowerRows& rows);

/// A forest whose nodes are renumbered by a postorder.
struct PostorderedForest {
  std::vector<std::int32_t> order;   ///< the node before, of each
  std::vector<std::int32_t> number;  ///< number[order[k]] = k
  std::vector<std::int32_t> parent;  ///< in the new numbers; -1: a root
};

/// The postorder of a forest, children before their parent and every subtree contiguous,
/// in which siblings and roots come as they do in another order.
///
/// @param parent  -1: a root
/// @param order   all nodes, each before its parent; empty: by increasing number
/// @par Cost  O(n), no recursion
[[nodiscard]] PostorderedForest postordered(std::span<const std::int32_t> parent,
                                            std::span<const std::int32_t> order = {});

/// Nonzeros in each column of L, the diagonal included, without computing L. Columns must
/// be numbered in a postorder of the tree.
///
/// Column j of L counts the row subtrees that contain j [GNP94]: row i's is what lies on
/// the paths from the columns of A's row i up to i. Its leaves are the columns without
/// one of the row's columns below them, and two neighbouring paths meet at their least
/// common ancestor. With 1 at each leaf, -1 where two paths meet and -1 at the parent of
/// i, what adds up below j is 1 inside the subtree and 0 outside. Where a < b are no
/// ancestors of each other, they meet at the largest of the parents of a to b - 1: so
/// rows need nothing of each other. Where there are few more entries than A has, and few
/// columns, they are counted one by one.
///
/// @param weight  columns that each stands for, which have the same rows; the count is
///                then of the first of them. Empty: one each
/// @par Cost  O(nonzeros of A log n) time, shared by the pool, but for a few passes over
///            the columns; memory O(n)
/// @par Test  equals symbolic elimination on small random matrices, with much fill and
///            with little; the same for any number of threads
[[nodiscard]] std::vector<std::int32_t> column_counts(
    const LowerRows& rows, std::span<const std::int32_t> parent, TaskPool& pool,
    std::span<const std::int32_t> weight = {});
[[nodiscard]] std::vector<std::int32_t> column_counts(
    const LowerRows& rows, std::span<const std::int32_t> parent);

}  // namespace espalier::solver
