#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "espalier/model/task_tree.h"
#include "solver/matrix/matrix_kind.h"
#include "solver/memory/page_choice.h"
#include "solver/symbolic/symbolic.h"
#include "solver/tree/row_strips.h"
#include "solver/tree/shared_list.h"
#include "solver/tree/tile_graph.h"
#include "solver/tree/trapezoid.h"

namespace espalier::solver {

struct AssemblyOptions {
  FactorKind kind = FactorKind::kCholesky;
  Bytes entry_bytes = sizeof(double);
  std::int32_t workers = 1;    ///< of all processes
  std::int32_t processes = 1;  ///< that share the workers evenly
  /// All fronts are one node, which one thread runs without a runtime: to the same bits.
  bool whole = false;
  /// a subtree with less than this part of the work is one task …
  double subtree_fraction = 1e-3;
  /// … or with less than one_task_limit() of these
  Flops subtree_floor = 2e7;
  double subtree_most = 1.0 / 32;
  Flops subtree_least = 5e5;
  /// successive fronts of a path, with what hangs between them, are one task up to this,
  /// in flops, where all below them is less than chain_most of a process's work …
  Flops chain_floor = 1e6;
  double chain_most = 0.125;
  /// … or what other processes could do at the same time: subtrees of more than
  /// chain_floor that hang from the path of the heaviest ones; and the whole factor has
  /// at most so many bytes to be dealt out
  Bytes chain_bytes = Bytes{64} << 20;
  /// fronts of fewer rows are not cut into tiles
  std::int32_t tiled_order = 256;
  /// tiled fronts that need less than this part of what the largest needs, with their
  /// children, take their memory at once: by blocks it is many calls and gains nothing
  double whole_part = 1.0 / 16;
  /// … and up to this part, or four units, where that makes the least peak of all no
  /// higher. More of them would wait for memory near the least bound, and clear it while
  /// many workers wait
  double fitting_part = 1.0 / 8;
  /// others take it in units of so many bytes, a huge page, where there is room for that:
  /// it costs many times less than in small pages on some machines
  Bytes unit = PageChoice::kHugePage;
  /// columns of a block in fronts that one task runs, and the least in others
  std::int32_t block_width = 64;
  /// Panels of large fronts may be compressed: subtrees are smaller, tiles of such fronts
  /// are low_rank_width(), and so much less memory is counted as nothing. Cholesky only.
  bool low_rank = false;
  /// Then contribution blocks of this part of what the largest needs are compressed too.
  double low_rank_part = 1.0 / 16;
  /// flops of an update that are worth a task: its overhead is some per cent
  Flops tile_flops = 3e6;
  /// what the runtime keeps for a submitted task and for a registered block, in bytes
  Bytes bytes_per_task = 2048;
  Bytes bytes_per_block = 6144;
};

/// The fronts of a factor grouped into the nodes that the runtime admits and runs, and
/// the memory and work of each, as a TaskTree whose task i is node i.
///
/// Neither `grains` nor the tiles of fronts depend on the number of processes and
/// workers, nor on what one node takes in: whoever factors the matrix makes the same
/// operations in the same order.
///
/// A node is a subtree of small fronts or a stretch of a path of tiny ones, run by one
/// task on a private stack, or one front: run by one task when it is small, by a task for
/// each tile when it is large. Other nodes may end in any of its fronts; its own last one
/// alone goes on.
///
/// Sizes of a node, each a whole number of pages:
///   f  the contribution block of its last front, a Trapezoid
///   r  the pivot columns of its fronts, Trapezoids one after the other
///   m  stack of contribution blocks inside the subtree, index lists, the runtime's own
///      structures for its tasks; also what goes to the spill file at the end, which then
///      is not part of f or r. A large tiled front takes memory block by block while it
///      gives back that of its children: m is negative by as much as they share
struct AssemblyTree {
  /// Memory of a tiled front while its block columns are assembled slice by slice: entry
  /// J is for the time when the slices before J are done and as many from J on as
  /// tile_shape() says are being assembled (of a shared front: whole block columns, and
  /// `window`). One entry for all: everything is in memory from the start.
  struct Profile {
    std::vector<Bytes> own;  ///< panel and contribution block, as far as begun
    /// Of each child node's contribution block, what the slices from J on still need.
    std::vector<std::pair<std::int32_t, std::vector<Bytes>>> children;
  };

  struct Node {
    std::int32_t first_front = 0, last_front = 0;  ///< inclusive; fronts are in postorder
    bool tiled = false;
    bool by_blocks = false;  ///< tiled, and its memory comes with its blocks …
    /// … in units of so many bytes, in which its children's goes, and of a compressed
    /// front its own; 0: as slices need it
    Bytes unit = 0;
    /// … for so many block columns at once
    std::int32_t window = 2;
    bool low_rank = false;  ///< tiled, and its panel may be compressed
    /// … and so may its contribution block, which waits where memory is short.
    bool low_rank_contribution = false;
    bool shared = false;             ///< with other processes: sizes are of the part here
    double part = 1;                 ///< of its work that is done here
    std::int64_t stack_entries = 0;  ///< entries of contribution blocks at most
    std::int64_t index_entries = 0;  ///< int32 of relative indices at once
    Bytes factor_bytes = 0;          ///< of the panels, in whole pages
    Bytes contribution_bytes = 0;    ///< of the last front's contribution block, likewise
    Bytes runtime_bytes = 0;         ///< the runtime's own structures for its tasks
    /// Of a node of all fronts whose stack is highest before its last panels come: after
    /// front `early_last` that never has more than `late_stack_entries`, and what is
    /// beyond goes; only then the panels beyond the first `early_factor_bytes` get their
    /// memory. What that saves of both together is not booked. -1: all is there from the
    /// start
    std::int32_t early_last = -1;
    std::int64_t late_stack_entries = 0;
    Bytes early_factor_bytes = 0, saved_bytes = 0;
    /// Where they go when the node is done, in the spill file; -1: they stay in memory.
    Bytes factor_at = -1, contribution_at = -1;

    /// Entries of the contribution block that are free when so many columns are read: of
    /// one whose tiles move, whole block columns.
    [[nodiscard]] std::int64_t read_before(const Trapezoid& layout,
                                           std::int32_t columns) const {
      return low_rank_contribution && columns < layout.columns()
                 ? layout.offset(layout.block_of(columns))
                 : layout.entries_before(columns);
    }
    /// The units that such bytes of the front's own memory lie in …
    [[nodiscard]] std::pair<Bytes, Bytes> units_of(Bytes begin, Bytes end) const {
      if (unit == 0) return {begin, end};
      return {begin / unit * unit, (end + unit - 1) / unit * unit};
    }
    /// … and those that lie in so many bytes of a side of a child's.
    [[nodiscard]] Bytes units_in(Bytes bytes) const {
      return unit == 0 ? bytes : bytes / unit * unit;
    }
  };

  FactorKind kind = FactorKind::kCholesky;
  Bytes entry_bytes = sizeof(double);
  Flops tile_flops = 0;          ///< of AssemblyOptions
  std::int32_t window = 1;       ///< block columns of a shared front, likewise
  std::vector<Node> nodes;       ///< children before parents
  std::vector<Profile> profile;  ///< of each node; empty unless tiled
  // Of fronts, the same in every part of one tree.
  SharedList<std::int32_t> node_of_front;
  SharedList<std::int32_t> block_width;                ///< for both its Trapezoids
  SharedList<std::int32_t> first_child, next_sibling;  ///< -1: none
  SharedList<std::int8_t> is_tiled;                    ///< whether it is cut into tiles
  /// Fronts [begin, end), one range after the other, of which nodes are made: subtrees of
  /// small fronts, and single fronts above. What each of them does to rows beyond it is
  /// summed up by itself in a solve. They do not depend on the number of processes.
  SharedList<IndexRange> grains;
  /// Whether a front, a leaf, adds to the contribution block of the sibling right before
  /// it, which is inside the same grain, has the same rows and is on top of the node's
  /// stack then: their parent takes the sum of both. Leaves of hubs and of borders of
  /// dense rows are many of these. Never a grain's last front, whose block is by itself.
  std::vector<bool> joins_previous;
  TaskTree tasks;
  std::vector<double> max_workers;  ///< that a node can use, for the simulation

  /// Of a node.
  [[nodiscard]] std::span<const IndexRange> grains_of(const Node& node) const;
  /// Sides of panels and contribution blocks: FrontStorage.
  [[nodiscard]] std::int32_t sides() const { return kind == FactorKind::kLu ? 2 : 1; }
  /// Whether the next sibling joins a front.
  [[nodiscard]] bool is_joined(std::int32_t front) const {
    const std::int32_t next = next_sibling[front];
    return next == front + 1 && joins_previous[static_cast<std::size_t>(next)];
  }
  /// As planned, or with so many columns that its children delay to it.
  [[nodiscard]] Trapezoid panel(const Symbolic& symbolic, std::int32_t front,
                                std::int32_t delayed = 0) const {
    return {symbolic.front_order(front) + delayed, symbolic.pivots(front) + delayed,
            block_width[front]};
  }
  [[nodiscard]] Trapezoid contribution(const Symbolic& symbolic,
                                       std::int32_t front) const {
    const std::int32_t order = symbolic.front_order(front) - symbolic.pivots(front);
    return {order, order, block_width[front]};
  }
  /// Of all sides, as planned.
  [[nodiscard]] std::int64_t panel_entries(const Symbolic& symbolic,
                                           std::int32_t front) const {
    return sides() * panel(symbolic, front).entries();
  }
  [[nodiscard]] std::int64_t contribution_entries(const Symbolic& symbolic,
                                                  std::int32_t front) const {
    return sides() * contribution(symbolic, front).entries();
  }
};

/// What a tiled node needs at an entry of its profile, its children's contribution blocks
/// with it as far as they are in memory.
[[nodiscard]] Bytes need_at(const AssemblyTree& tree,
                            const AssemblyTree::Profile& profile, std::size_t entry);

/// How a tiled front of so many block columns is cut. Tiles are as high as the block
/// columns are wide, or where these are narrow so high that an update is worth a task.
/// Wide block columns are assembled in several slices, two block columns at once.
/// @param extra  TileShape::extra
[[nodiscard]] TileShape tile_shape(const AssemblyTree& tree, std::int32_t front,
                                   std::int32_t panels, std::int32_t blocks,
                                   bool may_delay, std::int32_t extra = 0);
/// The same, of the block columns that the tree gives the front.
[[nodiscard]] TileShape tile_shape(const Symbolic& symbolic, const AssemblyTree& tree,
                                   std::int32_t front, bool may_delay);

/// Fronts of at least so many pivots are compressed, in tiles of so many columns: on
/// grids of 60^3 and 80^3 tiles of 128 take the least entries, and hardly more than
/// others of those between 96 and 256 (docs/decisions/0152).
constexpr std::int32_t kLowRankPivots = 128, kLowRankWidth = 128;
/// How the diagonal block of a compressed block column of so many is kept.
[[nodiscard]] inline Trapezoid packed_diagonal(std::int32_t columns) {
  constexpr std::int32_t kWidth = 8;
  return {columns, columns, kWidth};
}

/// stack_entries and index_entries of a node whose fronts are known. A front's
/// contribution block goes on top of its children's, which are then taken away; leaves
/// that join have one together. The last front's goes to a buffer of its own, and so does
/// whatever comes from other nodes.
/// @param tops  receives the stack's entries at each front, if not null
void measure_stack(const Symbolic& symbolic, const AssemblyTree& tree,
                   AssemblyTree::Node& node, std::vector<std::int64_t>* tops = nullptr);

/// @throws OverflowError when sizes leave the 64-bit range
/// @par Cost  O(fronts), and for tiled ones O(tiles)
[[nodiscard]] AssemblyTree build_assembly_tree(const Symbolic& symbolic,
                                               const AssemblyOptions& options);

/// Recomputes `tree.tasks` after factor_at or contribution_at of nodes have changed.
void describe_tasks(const Symbolic& symbolic, AssemblyTree& tree);

/// First column of each block column of a front, and its order at the end.
/// @param delayed  columns that its children delay to it
[[nodiscard]] std::vector<std::int32_t> block_starts(const Symbolic& symbolic,
                                                     const AssemblyTree& tree,
                                                     std::int32_t front,
                                                     std::int32_t delayed = 0);

}  // namespace espalier::solver
