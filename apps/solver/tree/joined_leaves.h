#pragma once

#include <algorithm>

#include "solver/tree/assembly_tree.h"

// Inline: stars and borders ask several times for each of many thousand leaves.

namespace espalier::solver {

/// Whether front s of a node, a leaf, adds to the contribution block of the sibling right
/// before it, which is inside the node, has the same rows and is on top of the node's
/// stack then: their parent takes the sum of both. Leaves of hubs and of borders of dense
/// rows are many of these. Not the node's last front, whose block stands by itself.
/// @par Cost  O(rows_of(s))
[[nodiscard]] inline bool joins_previous(const Symbolic& symbolic,
                                         const AssemblyTree& tree,
                                         const AssemblyTree::Node& node, std::int32_t s) {
  if (s <= node.first_front || s == node.last_front || tree.first_child[s] >= 0 ||
      symbolic.parent[s] < 0 || symbolic.parent[s] != symbolic.parent[s - 1])
    return false;
  const auto rows = symbolic.rows_of(s), before = symbolic.rows_of(s - 1);
  // Few rows mostly: a loop, not a call that compares bytes.
  const auto same = [](std::int32_t a, std::int32_t b) { return a == b; };
  return !rows.empty() && std::ranges::equal(rows, before, same);
}

/// Whether front s is inside the node and its next sibling joins it.
[[nodiscard]] inline bool is_joined(const Symbolic& symbolic, const AssemblyTree& tree,
                                    const AssemblyTree::Node& node, std::int32_t s) {
  const std::int32_t next = tree.next_sibling[s];
  return s >= node.first_front && next == s + 1 &&
         joins_previous(symbolic, tree, node, next);
}

}  // namespace espalier::solver
