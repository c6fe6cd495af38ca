#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "solver/distributed/front_distribution.h"
#include "solver/symbolic/symbolic.h"
#include "solver/tree/assembly_tree.h"
#include "solver/tree/row_strips.h"

namespace espalier::solver {

/// The tiles of one front as its processes have them, those of a local node too: strips
/// of rows in block columns, at and under the diagonal. Block columns are counted through
/// panel and contribution block.
///
/// A factored tile of the panel, strip s of block column k, is needed by a process that
///
///   updates tiles in strip s of later block columns,
///   or tiles of a later block column whose diagonal block is in strip s,
///   or solves for other strips of block column k, if s has its diagonal block, of
///   Cholesky: pivots that are tested come before, as a trial
///
/// so that on a grid of a x b processes about (a + b - 1) / (a b) of a panel are needed,
/// its own part included.
class FrontTiles {
 public:
  /// @param delayed  columns that its children delay to it: they are in the strip that
  ///                 has the last of the planned panel
  FrontTiles(const Symbolic& symbolic, const AssemblyTree& tree,
             const FrontDistribution& distribution, std::int32_t front,
             std::int32_t delayed = 0);

  [[nodiscard]] std::int32_t panels() const { return panel_.blocks(); }
  [[nodiscard]] std::int32_t blocks() const {
    return panel_.blocks() + contribution_.blocks();
  }
  [[nodiscard]] const Trapezoid& panel() const { return panel_; }
  [[nodiscard]] const Trapezoid& contribution() const { return contribution_; }
  /// First row of each block column, and the order.
  [[nodiscard]] const std::vector<std::int32_t>& starts() const { return starts_; }
  /// First row of each strip, and the order.
  [[nodiscard]] const std::vector<std::int32_t>& strip_rows() const {
    return strip_rows_;
  }
  /// The same of its contribution block's rows, from 0 on; before them less than 0.
  [[nodiscard]] std::vector<std::int32_t> contribution_strips() const;
  [[nodiscard]] std::int32_t strips() const {
    return static_cast<std::int32_t>(strip_rows_.size()) - 1;
  }
  [[nodiscard]] std::int32_t strip_of(std::int32_t block) const {
    return strip_of_row(strip_rows_, starts_[block]);
  }

  [[nodiscard]] std::int32_t owner(std::int32_t strip, std::int32_t block) const {
    return owner_[block] + strip % grid_rows_ * grid_columns_;
  }
  /// Whether a process has the tile.
  [[nodiscard]] bool has(std::int32_t process, std::int32_t strip,
                         std::int32_t block) const {
    return strip >= strip_of(block) && owner(strip, block) == process;
  }
  /// Whether a process has any tile of a block column.
  [[nodiscard]] bool has_any(std::int32_t process, std::int32_t block) const;
  /// Whether a process needs a tile of the panel, as above. It may have it.
  [[nodiscard]] bool needs(std::int32_t process, std::int32_t strip,
                           std::int32_t panel) const;
  /// Tiles of a panel that it needs and others have.
  [[nodiscard]] std::vector<std::int32_t> needed_strips(std::int32_t process,
                                                        std::int32_t panel) const;
  /// Other processes of the group that need a tile.
  [[nodiscard]] std::int32_t clients(std::int32_t strip, std::int32_t panel) const;
  /// Those that have tiles of a block column, but not its diagonal block; each once.
  [[nodiscard]] std::vector<std::int32_t> others_in(std::int32_t block) const;
  /// A process's strips of a block column, from its diagonal block on.
  [[nodiscard]] std::vector<std::int32_t> strips_in(std::int32_t process,
                                                    std::int32_t block) const;
  /// Whether a process follows columns that are put off in rows behind a panel: of later
  /// diagonal blocks that it has, or under the panel of its tiles of the last panel.
  [[nodiscard]] bool follows_after(std::int32_t process, std::int32_t panel) const;
  /// Rows under the panel in a process's tiles of the last panel.
  [[nodiscard]] std::vector<IndexRange> tail_rows(std::int32_t process) const;

  /// Where a tile stands in its Trapezoid, panel or contribution block.
  [[nodiscard]] TilePlace place(std::int32_t strip, std::int32_t block) const;
  /// Bytes [begin, end) of it in the buffer of these.
  [[nodiscard]] std::pair<Bytes, Bytes> bytes(std::int32_t strip, std::int32_t block,
                                              std::int32_t side) const;

 private:
  void cut_strips(const FrontGrid& grid, std::int32_t planned);
  void find_uses();

  WorkerRange group_;
  Bytes entry_bytes_;
  bool tested_;  // pivots, by all rows
  Trapezoid panel_, contribution_;
  std::vector<std::int32_t> starts_, strip_rows_;
  std::int32_t grid_rows_, grid_columns_;
  std::vector<std::int32_t> owner_;  // of each block column, in the grid's first row
  // Of each process of the group, of each strip: the last block column for whose tiles it
  // needs those of the strip; -1: none.
  std::vector<std::int32_t> last_use_;
};

}  // namespace espalier::solver
