#include "solver/tree/delayed_panel.h"

#include <algorithm>

#include "espalier/model/error.h"
#include "solver/memory/page_buffer.h"

namespace espalier::solver {
namespace {

// Delayed columns make the last block column of a panel wider, where it was narrower than
// the others, and its slices, if there are more than one. Planned columns that are
// assembled earlier for that, beyond the most that the node needs at any time.
Bytes early_bytes(const Symbolic& symbolic, const AssemblyTree& tree,
                  std::int32_t front) {
  const std::int32_t number = tree.node_of_front[front];
  const AssemblyTree::Profile& profile = tree.profile[number];
  const Trapezoid plan = tree.panel(symbolic, front);
  const std::int32_t last = plan.blocks() - 1;
  const std::int32_t width = last < 0 ? 0 : plan.width(last);
  const TileShape shape = tile_shape(symbolic, tree, front, true);
  if (width % tree.block_width[front] == 0 || shape.slices == 1) return 0;
  const AssemblyTree::Node& node = tree.nodes[number];
  Bytes need = checked_add(node.factor_bytes, node.contribution_bytes), then = 0;
  for (std::int32_t j = 0; j < std::ssize(profile.own); ++j) {
    const Bytes now = need_at(tree, profile, j);
    need = std::max(need, now);
    const bool partly =
        j + shape.window > last * shape.slices && j < (last + 1) * shape.slices;
    if (partly) then = std::max(then, now);
  }
  const Bytes early = checked_mul(checked_mul(tree.sides(), tree.entry_bytes),
                                  plan.leading(last) * width);
  return std::max<Bytes>(0, checked_add(then, early) - need);
}

}  // namespace

bool gives_way(const AssemblyTree& tree, std::int32_t front, bool pooled) {
  const AssemblyTree::Node& node = tree.nodes[tree.node_of_front[front]];
  return node.factor_at < 0 &&
         (node.tiled || pooled || node.factor_bytes > PageBuffer::kSmall);
}

Bytes delayed_panel_bytes(const Symbolic& symbolic, const AssemblyTree& tree,
                          std::int32_t front, std::int32_t delayed, bool pooled) {
  if (delayed == 0) return 0;
  const Trapezoid plan = tree.panel(symbolic, front);
  const Trapezoid panel = tree.panel(symbolic, front, delayed);
  const auto bytes_of = [&](std::int64_t entries) {
    return checked_mul(checked_mul(tree.sides(), tree.entry_bytes), entries);
  };
  // Orders and D, before and after the factorisation of a block.
  const Bytes lists = checked_mul(6 * tree.entry_bytes, panel.columns());
  const Bytes all = checked_add(PageBuffer::footprint(bytes_of(panel.entries())), lists);
  if (!gives_way(tree, front, pooled)) return all;
  const AssemblyTree::Node& node = tree.nodes[tree.node_of_front[front]];
  if (node.tiled)
    return checked_add(all - node.factor_bytes,
                       node.by_blocks ? early_bytes(symbolic, tree, front) : 0);
  // A page of it may be its neighbours', at either end.
  const Bytes gone = bytes_of(plan.entries()) - 2 * PageBuffer::footprint(1);
  return all - std::max<Bytes>(0, gone);
}

}  // namespace espalier::solver
