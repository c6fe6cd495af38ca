#pragma once

#include "espalier/model/task_tree.h"
#include "espalier/model/traversal.h"

namespace espalier {

/// The postorder that finishes the subtree of most work first: siblings, and roots, by
/// decreasing sum of w over their subtrees; equal sums go by TaskId.
///
/// What people do who think of time alone: the long branches are begun early. It knows
/// nothing of memory and is there to be compared with orders that do.
///
/// @return each task once, children first, with its peak in bytes
/// @par Cost  O(n log n) time, O(n) memory, no recursion
/// @par Test  HeaviestFirst.*
[[nodiscard]] Traversal heaviest_first(const TaskTree& tree);

}  // namespace espalier
