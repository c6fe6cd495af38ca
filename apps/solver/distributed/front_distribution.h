#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "espalier/model/schedule.h"
#include "espalier/model/task_tree.h"
#include "solver/tree/assembly_tree.h"

namespace espalier::solver {

/// The processes of a shared front as a grid of `rows` x (all / rows). The front's rows
/// are cut into strips; strip s of a block column is at the process in row s mod `rows`
/// of the grid's column that has the block column.
struct FrontGrid {
  std::int32_t rows = 1;
  /// First block row of each strip, from 0 on, at the ends of tiles (TileShape::group);
  /// empty: one strip.
  std::vector<std::int32_t> strip{};

  [[nodiscard]] std::int32_t strips() const {
    return std::max(1, static_cast<std::int32_t>(strip.size()));
  }
  /// The strip that has a block row.
  [[nodiscard]] std::int32_t strip_of(std::int32_t block) const {
    if (strip.empty()) return 0;
    const auto next = std::upper_bound(strip.begin(), strip.end(), block);
    return static_cast<std::int32_t>(next - strip.begin() - 1);
  }
};

/// Which process does what in a factorisation on several processes, each with memory of
/// its own.
///
/// A node of the assembly tree is *local* when one process has all of it and of what is
/// below it; that process runs it as if it were alone. Other nodes are *shared*: a single
/// front, cut into tiles, each with an owner: strips of rows in block columns. The
/// processes of a shared node's group hold tiles of it, or contribution blocks of its
/// children, which they send to the owners. Groups are nested: that of a node contains
/// those of its children.
struct FrontDistribution {
  std::int32_t processes = 1;
  /// Of each node: consecutive processes, at least one.
  std::vector<WorkerRange> group;
  /// Of each shared node: who has each block column among the processes of the grid's
  /// first row, which are the first of the group; the panel's first, then those of the
  /// contribution block. Empty for local nodes.
  std::vector<std::vector<std::int32_t>> owner;
  /// Of each node; empty: all are of one row and one strip.
  std::vector<FrontGrid> grid{};
  /// Panels of others that a process has at once: SharedFrontRules.
  std::int32_t panels_at_once = 2;

  [[nodiscard]] bool shared(std::int32_t node) const { return group[node].count > 1; }
  [[nodiscard]] bool takes_part(std::int32_t node, std::int32_t process) const {
    return group[node].contains(process);
  }
  [[nodiscard]] const FrontGrid& grid_of(std::int32_t node) const {
    static const FrontGrid kOneRow;
    return grid.empty() ? kOneRow : grid[static_cast<std::size_t>(node)];
  }
  /// From one row of a node's grid to the next.
  [[nodiscard]] std::int32_t grid_columns(std::int32_t node) const {
    return group[node].count / grid_of(node).rows;
  }
  /// Owner of a tile of a block column, counted through panel and contribution block.
  [[nodiscard]] std::int32_t tile_owner(std::int32_t node, std::int32_t strip,
                                        std::int32_t block) const {
    if (!shared(node)) return group[node].first;
    return owner[node][static_cast<std::size_t>(block)] +
           strip % grid_of(node).rows * grid_columns(node);
  }
  /// Owner of a block column's diagonal block: of the block column, of one strip.
  [[nodiscard]] std::int32_t owner_of(std::int32_t node, std::int32_t block) const {
    return tile_owner(node, grid_of(node).strip_of(block), block);
  }
  /// The same in a shared front that takes in columns which its children delayed: its
  /// panel has `panels` block columns, of which `planned` are planned. Those between are
  /// dealt out in turn over the grid's columns; the last one stays with its owner.
  [[nodiscard]] std::int32_t owner_of(std::int32_t node, std::int32_t block,
                                      std::int32_t planned, std::int32_t panels) const {
    const std::int32_t like = block < planned  ? block
                              : block < panels ? planned - 1
                                               : block - (panels - planned);
    const std::int32_t row = grid_of(node).strip_of(like) % grid_of(node).rows;
    return first_owner_of(node, block, planned, panels) + row * grid_columns(node);
  }
  /// The process of the grid's first row in its column.
  [[nodiscard]] std::int32_t first_owner_of(std::int32_t node, std::int32_t block,
                                            std::int32_t planned,
                                            std::int32_t panels) const {
    if (block >= panels) return tile_owner(node, 0, block - (panels - planned));
    if (block < planned) return tile_owner(node, 0, block);
    if (block + 1 == panels) return tile_owner(node, 0, planned - 1);
    return group[node].first + block % grid_columns(node);
  }
};

}  // namespace espalier::solver
