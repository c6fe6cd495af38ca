#pragma once

#include "espalier/model/traversal.h"

namespace espalier {

/// The same traversal for the out-tree: the tree with all arrows turned round, in which a
/// parent runs before its children.
///
/// In the out-tree, f_i is the size of the file that i reads from its parent; it lives
/// from the parent's start until i has ended, a root's from the start of the job; m_i
/// lives while i runs, r_i from the start of the job until i has ended. An order of the
/// in-tree read backwards is an order of the out-tree, the same files are in memory at
/// each step, and so the peak is the same. An optimal traversal of one is optimal for the
/// other.
///
/// It holds only when each child has a file of its own. One output that all children
/// share is another problem, and a hard one.
///
/// @par Cost  O(n)
/// @par Test  Reversal.KeepsThePeak
[[nodiscard]] Traversal reversal(Traversal traversal);

}  // namespace espalier
