#include "solver/tree/node_pieces.h"

#include <algorithm>
#include <array>

#include "espalier/model/error.h"
#include "solver/memory/page_buffer.h"
#include "solver/symbolic/front_cost.h"

namespace espalier::solver {
namespace {

// Pieces for each thread, so that all end at nearly the same time.
constexpr std::int32_t kPiecesEach = 8;
// A stretch of a chain: some hundred times what a task takes beside its work.
constexpr Flops kStretch = 1e6;
// Entries to which blocks are aligned: some lines of the cache.
constexpr std::int64_t kAligned = 64;
// Part of all work that a path from a leaf to the root may have where threads are worth
// it: they wait for one another, and what one has in its cache the other reads.
constexpr Flops kMostOnPath = 0.8;
// Work that a thread is worth its start for.
constexpr Flops kWorthAThread = 1e7;

// What fronts cost, and which of them go together.
struct PieceCosts {
  std::vector<Flops> subtree, until;
  Flops small, stretch;  // one piece: a subtree; a stretch of a chain

  PieceCosts(const Symbolic& symbolic, const AssemblyTree& tree, std::int32_t threads)
      : subtree(subtree_costs(symbolic, tree.sides())),
        until(costs_until(symbolic, tree.sides())),
        small(until.back() / (kPiecesEach * threads)),
        stretch(std::min(kStretch, small)) {}
};

// In a piece by itself, whose tiles all threads take.
bool is_alone(const AssemblyTree& tree, const PieceCosts& cost, std::int32_t front) {
  return tree.is_tiled[front] && cost.subtree[front] > cost.small;
}

// The last front of each piece: the last one of a grain, unless its parent's whole
// subtree is small or all from the piece's first front to the parent is a stretch.
std::vector<std::int32_t> ends_of_pieces(const Symbolic& symbolic,
                                         const AssemblyTree& tree,
                                         const PieceCosts& cost) {
  std::vector<std::int32_t> ends;
  std::int32_t first = 0;
  for (const IndexRange& grain : tree.grains) {
    const std::int32_t s = grain.end - 1, parent = symbolic.parent[s];
    if (parent >= 0 && cost.subtree[parent] <= cost.small) continue;
    if (parent >= 0 && cost.until[parent + 1] - cost.until[first] <= cost.stretch &&
        !is_alone(tree, cost, s) && !is_alone(tree, cost, parent))
      continue;
    ends.push_back(s);
    first = s + 1;
  }
  return ends;
}

// Of the blocks of a subtree that are an even, or an odd, way from the root of all,
// either its root's is there, whose children are done, or some of its subtrees' are.
void place_blocks(const Symbolic& symbolic, const AssemblyTree& tree, NodePieces& cut) {
  const std::size_t pieces = cut.pieces.size();
  std::vector<std::int8_t> odd(pieces, 0);
  for (std::size_t p = pieces; p-- > 0;)
    if (cut.parent[p] >= 0) odd[p] = odd[cut.parent[p]] == 0 ? 1 : 0;
  // Entries that each subtree needs of either sort.
  std::vector<std::array<std::int64_t, 2>> need(pieces, {0, 0});
  std::array<std::int64_t, 2> all{0, 0};
  for (std::size_t p = 0; p < pieces; ++p) {
    const std::int64_t entries =
        tree.contribution_entries(symbolic, cut.pieces[p].last_front);
    const std::int64_t own =
        p + 1 == pieces ? 0 : (entries + kAligned - 1) / kAligned * kAligned;
    need[p][odd[p]] = std::max(need[p][odd[p]], own);
    std::array<std::int64_t, 2>& above = cut.parent[p] >= 0 ? need[cut.parent[p]] : all;
    for (const int sort : {0, 1}) above[sort] = checked_add(above[sort], need[p][sort]);
  }
  // Subtrees side by side, the last one's at the end.
  std::vector<std::array<std::int64_t, 2>> end(pieces);
  std::array<std::int64_t, 2> roots{all[0], checked_add(all[0], all[1])};
  cut.block_at.resize(pieces);
  for (std::size_t p = pieces; p-- > 0;) {
    std::array<std::int64_t, 2>& of_parent =
        cut.parent[p] >= 0 ? end[cut.parent[p]] : roots;
    end[p] = of_parent;
    for (const int sort : {0, 1}) of_parent[sort] -= need[p][sort];
    cut.block_at[p] = of_parent[odd[p]];
  }
  cut.block_entries = checked_add(all[0], all[1]);
}

}  // namespace

Bytes NodePieces::stack_bytes(const AssemblyTree& tree) const {
  return PageBuffer::footprint(
      checked_add(checked_mul(stack_entries, tree.entry_bytes),
                  checked_mul(index_entries, sizeof(std::int32_t))));
}

Bytes NodePieces::bytes_beside(const AssemblyTree& tree) const {
  return PageBuffer::footprint(checked_add(checked_mul(threads, stack_bytes(tree)),
                                           checked_mul(block_entries, tree.entry_bytes)));
}

Bytes NodePieces::bytes(const AssemblyTree& tree) const {
  const AssemblyTree::Node& node = tree.nodes[0];
  return checked_add(bytes_beside(tree),
                     checked_add(node.factor_bytes, node.contribution_bytes));
}

NodePieces cut_into_pieces(const Symbolic& symbolic, const AssemblyTree& tree,
                           std::int32_t threads) {
  ESPALIER_ASSERT(tree.nodes.size() == 1, "of a tree that is one node");
  const PieceCosts cost(symbolic, tree, threads);
  NodePieces cut;
  cut.threads = threads;
  cut.of_front.resize(symbolic.parent.size());
  std::int32_t first = 0;
  std::int64_t panels = 0;
  for (const std::int32_t last : ends_of_pieces(symbolic, tree, cost)) {
    AssemblyTree::Node piece{.first_front = first, .last_front = last};
    piece.tiled = is_alone(tree, cost, last);
    measure_stack(symbolic, tree, piece);
    cut.panels.push_back(panels);
    for (std::int32_t s = first; s <= last; ++s) {
      cut.of_front[s] = static_cast<std::int32_t>(cut.pieces.size());
      panels += tree.panel_entries(symbolic, s);
    }
    cut.stack_entries = std::max(cut.stack_entries, piece.stack_entries);
    cut.index_entries = std::max(cut.index_entries, piece.index_entries);
    cut.work.push_back(cost.until[last + 1] - cost.until[first]);
    cut.pieces.push_back(piece);
    first = last + 1;
  }
  cut.panels.push_back(panels);
  cut.parent.resize(cut.pieces.size(), -1);
  cut.children.resize(cut.pieces.size(), 0);
  for (std::size_t p = 0; p < cut.pieces.size(); ++p) {
    const std::int32_t above = symbolic.parent[cut.pieces[p].last_front];
    if (above < 0) continue;
    cut.parent[p] = cut.of_front[above];
    ++cut.children[cut.of_front[above]];
  }
  place_blocks(symbolic, tree, cut);
  return cut;
}

bool is_one_path(const NodePieces& cut) {
  std::vector<Flops> path(cut.pieces.size(), 0);
  Flops all = 0, longest = 0;
  for (std::size_t p = 0; p < cut.pieces.size(); ++p) {
    all += cut.work[p];
    path[p] += cut.pieces[p].tiled ? cut.work[p] / cut.threads : cut.work[p];
    longest = std::max(longest, path[p]);
    if (cut.parent[p] < 0) continue;
    Flops& above = path[cut.parent[p]];
    above = std::max(above, path[p]);
  }
  return longest > kMostOnPath * all;
}

std::int32_t useful_threads(const AssemblyTree& tree, std::int32_t most) {
  const Flops work = tree.tasks.empty() ? 0 : tree.tasks.work(task_id(0));
  return static_cast<std::int32_t>(std::clamp(work / kWorthAThread, 1.0, Flops(most)));
}

}  // namespace espalier::solver
