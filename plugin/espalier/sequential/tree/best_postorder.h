#pragma once

#include <vector>

#include "espalier/model/task_tree.h"
#include "espalier/model/traversal.h"

namespace espalier {

/// What each subtree needs and leaves when it is run on its own in its best postorder.
/// Arrays are indexed by task.
struct SubtreePeaks {
  std::vector<Bytes> peak;         ///< P_i
  std::vector<Bytes> left_behind;  ///< L_i = f_i + sum of all r in the subtree

  /// The best postorder visits sibling (or root) a before b: by decreasing P − L, equal
  /// keys by TaskId.
  [[nodiscard]] bool visits_before(TaskId a, TaskId b) const {
    const Bytes key_a = peak[index(a)] - left_behind[index(a)];
    const Bytes key_b = peak[index(b)] - left_behind[index(b)];
    return key_a != key_b ? key_a > key_b : a < b;
  }
};

/// Peaks of all subtrees in their best postorders; see best_postorder().
[[nodiscard]] SubtreePeaks subtree_postorder_peaks(const TaskTree& tree);

/// Postorder of least peak memory [Liu86], with retained memory and for forests.
///
/// A postorder finishes one child's subtree before starting the next. With
///   f_i = tree.output_size(i)     bytes held until i's parent ends
///   m_i = tree.execution_size(i)  bytes held only while i runs
///   r_i = tree.retained_size(i)   bytes held from i's start to the end of the job
///   L_i = f_i + sum of r in i's subtree, what the subtree leaves behind,
/// and children c_1 … c_k of i in visiting order, the peak of i's subtree is
///   P_i = max( max_j ( L_{c_1} + … + L_{c_{j-1}} + P_{c_j} ),
///              L_{c_1} + … + L_{c_k} + m_i + f_i + r_i ).
/// Visiting children by decreasing P_c − L_c minimises it: what a subtree leaves behind
/// does not depend on the order inside it, so of two neighbours j, k the pair costs
/// max(P_j, L_j + P_k), and the larger P − L first never costs more. Equal keys go by
/// TaskId, so every machine returns the same order. Roots are ordered by the same rule.
///
/// A traversal that is not a postorder may need less: see liu_traversal().
///
/// @return each task once, children first, with its peak in bytes
/// @par Cost  O(n log n) time, O(n) memory, no recursion
/// @par Test  BestPostorder.MatchesBruteForceOnSmallTrees
[[nodiscard]] Traversal best_postorder(const TaskTree& tree);

/// The order of best_postorder() when no subtree ever holds more than `most` bytes,
/// because the rest is on disk: P_i = min(most, …) in the recurrence above.
/// See post_order_min_io().
[[nodiscard]] std::vector<TaskId> capped_postorder(const TaskTree& tree, Bytes most);

}  // namespace espalier
