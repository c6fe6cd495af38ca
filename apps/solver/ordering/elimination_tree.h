#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solver/matrix/permute.h"

namespace espalier::solver {

/// Elimination tree of a symmetric matrix [Liu90]: the parent of column j is the row of
/// the first nonzero below the diagonal in column j of L; -1: a root. A parent is greater
/// than its children.
///
/// @par Cost  O(nonzeros log n) time by path compression, O(n) memory
[[nodiscard]] std::vector<std::int32_t> elimination_tree(const LowerRows& rows);

/// The nodes of a forest in postorder, result[position] = node: children before their
/// parent, every subtree contiguous, siblings and roots by increasing number.
///
/// @param parent  -1: a root; otherwise greater than the node
/// @par Cost  O(n), no recursion
[[nodiscard]] std::vector<std::int32_t> forest_postorder(
    std::span<const std::int32_t> parent);

/// Nonzeros in each column of L, the diagonal included, without computing L: where there
/// are few more than A has they are counted one by one, else by the skeleton algorithm of
/// [GNP94]. Columns must be numbered in a postorder of the tree.
///
/// @par Cost  O(nonzeros of A, log n in the worst case) time, one transient transpose of
///            the pattern
/// @par Test  equals symbolic elimination on small random matrices, with much fill and
///            with little
[[nodiscard]] std::vector<std::int32_t> column_counts(
    const LowerRows& rows, std::span<const std::int32_t> parent);

}  // namespace espalier::solver
