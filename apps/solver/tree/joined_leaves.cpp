#include "solver/tree/joined_leaves.h"

#include <algorithm>

namespace espalier::solver {

bool joins_previous(const Symbolic& symbolic, const AssemblyTree& tree,
                    const AssemblyTree::Node& node, std::int32_t s) {
  if (s <= node.first_front || s == node.last_front || tree.first_child[s] >= 0 ||
      symbolic.parent[s] < 0 || symbolic.parent[s] != symbolic.parent[s - 1])
    return false;
  const auto rows = symbolic.rows_of(s), before = symbolic.rows_of(s - 1);
  // Few rows mostly: a loop, not a call that compares bytes.
  const auto same = [](std::int32_t a, std::int32_t b) { return a == b; };
  return !rows.empty() && std::ranges::equal(rows, before, same);
}

bool is_joined(const Symbolic& symbolic, const AssemblyTree& tree,
               const AssemblyTree::Node& node, std::int32_t s) {
  const std::int32_t next = tree.next_sibling[s];
  return s >= node.first_front && next == s + 1 &&
         joins_previous(symbolic, tree, node, next);
}

}  // namespace espalier::solver
