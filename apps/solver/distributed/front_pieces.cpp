#include "solver/distributed/front_pieces.h"

#include <algorithm>

#include "solver/tree/extend_add.h"

namespace espalier::solver {

HeldColumns held_columns(const Symbolic& symbolic, const AssemblyTree& tree,
                         const FrontDistribution& distribution, std::int32_t front,
                         std::int32_t process) {
  const Trapezoid layout = tree.contribution(symbolic, front);
  const std::int32_t node = tree.node_of_front[front];
  const std::int32_t panels = tree.panel(symbolic, front).blocks();
  HeldColumns held;
  for (std::int32_t j = 0; j < layout.blocks(); ++j) {
    if (distribution.owner_of(node, panels + j) != process) continue;
    const std::int32_t first = layout.first(j), last = first + layout.width(j);
    if (!held.empty() && held.back().second == first)
      held.back().second = last;
    else
      held.push_back({first, last});
  }
  return held;
}

std::vector<FrontPiece> front_pieces(const Symbolic& symbolic, const AssemblyTree& tree,
                                     const FrontDistribution& distribution,
                                     std::int32_t node, std::int32_t delayed) {
  const std::int32_t front = tree.nodes[node].last_front;
  const std::int32_t own = symbolic.pivots(front);
  const std::vector<std::int32_t> start = block_starts(symbolic, tree, front, delayed);
  const std::int32_t planned = tree.panel(symbolic, front).blocks();
  const std::int32_t panels = static_cast<std::int32_t>(start.size()) - 1 -
                              tree.contribution(symbolic, front).blocks();
  std::vector<FrontPiece> pieces;
  std::vector<std::int32_t> positions;
  std::int32_t number = 0;
  for (auto c = tree.first_child[front]; c >= 0; c = tree.next_sibling[c], ++number) {
    const Trapezoid layout = tree.contribution(symbolic, c);
    const std::int32_t before = tree.panel(symbolic, c).blocks();
    positions.resize(static_cast<std::size_t>(layout.rows()));
    relative_indices(symbolic, c, front, positions);
    for (std::int32_t& position : positions)
      if (position >= own) position += delayed;
    std::int32_t block = 0;
    for (std::int32_t first = 0, last = 0; first < layout.columns(); first = last) {
      while (start[block + 1] <= positions[first]) ++block;
      const std::int32_t j = layout.block_of(first);
      const std::int32_t end = layout.first(j) + layout.width(j);
      last = static_cast<std::int32_t>(std::lower_bound(positions.begin() + first,
                                                        positions.begin() + end,
                                                        start[block + 1]) -
                                       positions.begin());
      const std::int32_t from = distribution.owner_of(tree.node_of_front[c], before + j);
      const std::int32_t to = distribution.owner_of(node, block, planned, panels);
      pieces.push_back({number, first, last, block, from, to});
    }
  }
  std::stable_sort(
      pieces.begin(), pieces.end(),
      [](const FrontPiece& a, const FrontPiece& b) { return a.block < b.block; });
  return pieces;
}

}  // namespace espalier::solver
