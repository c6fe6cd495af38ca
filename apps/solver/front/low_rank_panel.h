#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "espalier/model/units.h"
#include "espalier/solver/results.h"
#include "solver/kernels/tile_product.h"
#include "solver/tree/trapezoid.h"

namespace espalier::solver {

/// How panels are compressed.
struct LowRankOptions {
  /// What a tile of the factor may lose, in the Frobenius norm; 0: panels stay as they
  /// are.
  double tolerance = 0;
};

/// The panel of a front whose tiles below the diagonal blocks are compressed where that
/// pays. Tile (i, k) has the rows of block i of the front and the columns of block k of
/// the panel; blocks are those of FrontStorage.
///
/// While the front is factored a tile stands where the panel has it, compressed in place
/// (kernels::compress_tile()). compact_panel() puts them one after the other, and the
/// rest of the memory leaves.
struct LowRankPanel {
  explicit LowRankPanel(const Trapezoid& panel)
      : layout(panel),
        blocks(panel.blocks() + (panel.rows() - panel.columns() + width() - 1) / width()),
        rank(static_cast<std::size_t>(panel.blocks()) * blocks, kernels::kFullRank) {}

  [[nodiscard]] std::int32_t width() const { return layout.width(0); }
  [[nodiscard]] std::int32_t first(std::int32_t block) const {
    const std::int32_t panels = layout.blocks();
    return block < panels ? layout.first(block)
                          : layout.columns() + (block - panels) * width();
  }
  [[nodiscard]] std::int32_t rows(std::int32_t block) const {
    const std::int32_t end = block < layout.blocks() ? layout.columns() : layout.rows();
    return std::min(width(), end - first(block));
  }
  /// The block that begins with a row.
  [[nodiscard]] std::int32_t block_of(std::int32_t row) const {
    return row < layout.columns() ? row / width()
                                  : layout.blocks() + (row - layout.columns()) / width();
  }
  [[nodiscard]] std::size_t number(std::int32_t row, std::int32_t column) const {
    return static_cast<std::size_t>(column) * blocks + row;
  }
  [[nodiscard]] bool is_compact() const { return !place.empty(); }

  /// Tile (row, column) of the panel that begins at `panel`; row == column: the diagonal
  /// block, in full.
  template <class T>
  [[nodiscard]] kernels::Tile<T> tile(const T* panel, std::int32_t row,
                                      std::int32_t column) const {
    const std::int32_t r = rank[number(row, column)];
    const std::int32_t skipped = std::max(r, 0);
    if (is_compact()) {
      const T* const u = panel + place[number(row, column)];
      const std::int32_t m = rows(row);
      return {u, m, u + std::int64_t{skipped} * m, layout.width(column), r};
    }
    const std::int32_t leading = layout.leading(column);
    const T* const u = panel + layout.offset(column) + (first(row) - first(column));
    return {u, leading, u + std::int64_t{skipped} * leading, leading, r};
  }

  Trapezoid layout;
  std::int32_t blocks;             ///< of the front
  std::vector<std::int32_t> rank;  ///< of each tile, number()
  std::vector<std::int64_t>
      place;  ///< likewise, in entries; empty: as the panel has them
  std::int64_t compact_entries = 0;
  std::atomic<std::int64_t> flops{0}, full_flops{0};
};

/// The diagonal block of a panel's block column, and its leading dimension.
/// @param low_rank  of the panel; null: it is laid out as planned
template <class T>
[[nodiscard]] std::pair<const T*, std::int32_t> diagonal_block(
    const LowRankPanel* low_rank, const Trapezoid& layout, const T* panel,
    std::int32_t block) {
  if (low_rank == nullptr) return {panel + layout.offset(block), layout.leading(block)};
  const kernels::Tile<T> tile = low_rank->tile(panel, block, block);
  return {tile.u, tile.ldu};
}

/// Adds what became of a panel.
void add_to(LowRankStatistics& sum, const LowRankPanel& panel, Bytes entry_bytes);

/// Puts the tiles of a factored panel one after the other, from its start on.
/// @param column  work space for a block column: layout.leading(0) width() entries
/// @par Cost  two copies of what stays
template <class T>
void compact_panel(LowRankPanel& panel, T* data, T* column);

}  // namespace espalier::solver
