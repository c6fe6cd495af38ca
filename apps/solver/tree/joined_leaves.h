#pragma once

#include "solver/tree/assembly_tree.h"

namespace espalier::solver {

/// Whether front s of a node, a leaf, adds to the contribution block of the sibling right
/// before it, which is inside the node, has the same rows and is on top of the node's
/// stack then: their parent takes the sum of both. Leaves of hubs and of borders of dense
/// rows are many of these. Not the node's last front, whose block stands by itself.
/// @par Cost  O(rows_of(s))
[[nodiscard]] bool joins_previous(const Symbolic& symbolic, const AssemblyTree& tree,
                                  const AssemblyTree::Node& node, std::int32_t s);

/// Whether front s is inside the node and its next sibling joins it.
[[nodiscard]] bool is_joined(const Symbolic& symbolic, const AssemblyTree& tree,
                             const AssemblyTree::Node& node, std::int32_t s);

}  // namespace espalier::solver
