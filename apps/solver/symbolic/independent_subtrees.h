#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace espalier::solver {

/// Parts of a forest that can be worked on at the same time, each of subtrees that are
/// next to each other, and what is above them.
struct IndependentSubtrees {
  struct Range {
    std::int32_t first, last;  ///< nodes first to last
  };
  std::vector<Range> parts;       ///< increasing
  std::vector<std::int32_t> top;  ///< the other nodes, increasing

  /// All of the nodes as one part.
  [[nodiscard]] static IndependentSubtrees whole(std::int32_t nodes) {
    if (nodes == 0) return {};
    return {{{0, nodes - 1}}, {}};
  }
};

/// The largest subtrees of which each weighs a sixty-fourth of the forest at most, and of
/// those as many neighbours in a part as weigh no more together: of a star the leaves are
/// some 64 parts, not one each. They depend on the forest alone.
///
/// @param parent  -1: a root; nodes are in postorder, every subtree contiguous
/// @param weight  of nodes 0 to k - 1 at k: one more than there are nodes
/// @par Cost  O(nodes)
/// @par Test  IndependentSubtrees.*
[[nodiscard]] IndependentSubtrees independent_subtrees(
    std::span<const std::int32_t> parent, std::span<const std::int64_t> weight);

/// The same where every node weighs 1.
[[nodiscard]] IndependentSubtrees independent_subtrees(
    std::span<const std::int32_t> parent);

}  // namespace espalier::solver
