#pragma once

#include "espalier/model/task_tree.h"
#include "espalier/model/traversal.h"

namespace espalier {

/// Sequential traversal of least peak memory [Liu87], with retained memory and for
/// forests. No order of any kind needs less.
///
/// Running task i adds m_i + f_i + r_i to what is in memory and changes it for good by
///   net_i = f_i + r_i − sum of the children's f,
/// which does not depend on the order. The best order of a subtree is kept as segments
/// (segment.h) that other subtrees may be interleaved between, at its valleys: the
/// decreasing hills and increasing valleys of [Liu87]. Bottom-up:
///
///   heap := the children's segments melded, least key = hill − valley on top
///   s    := the task alone
///   while the heap is not empty and (s.net <= 0 or s.peak >= least key):
///       s := concat(pop, s)     the popped segment runs directly before s
///   push s
///
/// The condition is joins() of segment.h, and what comes out is the profile (profile.h)
/// of the subtree, of which only the end is touched. When the loop stops, s.key < s.peak
/// < all other keys of the subtree, so running all segments by decreasing key respects
/// precedence and merges subtrees optimally. Segments of equal key belong to independent
/// subtrees, and their order does not change the peak; it is a function of the tree
/// alone, so every machine returns the same order.
///
/// Against the literature: segments and mergeable heaps in place of merged lists of hills
/// and valleys, hence O(n log n) instead of O(n^2).
///
/// @return each task once, children first, with its peak in bytes
/// @par Cost  O(n log n) time (pairing heaps), O(n) memory, no recursion
/// @par Test  LiuTraversal.MatchesExactSearchOnSmallTrees
[[nodiscard]] Traversal liu_traversal(const TaskTree& tree);

}  // namespace espalier
