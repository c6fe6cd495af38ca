#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace espalier::solver {

/// An assembly tree before the final numbering: which columns each front eliminates and
/// how large the front is. Fronts are numbered so that a parent is greater than its
/// children; the columns of a front, in increasing order, are a valid elimination order.
struct SupernodeTree {
  std::vector<std::int32_t> front_of_column;
  std::vector<std::int32_t> pivots;  ///< columns that the front eliminates
  std::vector<std::int32_t> order;   ///< rows of the front: pivots and contribution block
  std::vector<std::int32_t> parent;  ///< -1: a root

  [[nodiscard]] std::int32_t fronts() const {
    return static_cast<std::int32_t>(parent.size());
  }
};

/// Entries of the lower trapezoid that a front's panel keeps: `pivots` columns of a lower
/// triangle of the given order.
[[nodiscard]] constexpr std::int64_t panel_entries(std::int64_t pivots,
                                                   std::int64_t order) {
  return pivots * order - pivots * (pivots - 1) / 2;
}

/// Fundamental supernodes [LNP93]: column j + 1 shares the front of column j when j is
/// its only child in the elimination tree and both have the same rows below. No zeros.
///
/// @param parent  elimination tree, columns in postorder
/// @param count   nonzeros of each column of L, the diagonal included
/// @par Cost  O(n)
[[nodiscard]] SupernodeTree fundamental_supernodes(std::span<const std::int32_t> parent,
                                                   std::span<const std::int32_t> count);

}  // namespace espalier::solver
