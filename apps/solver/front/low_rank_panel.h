#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "espalier/model/units.h"
#include "espalier/solver/results.h"
#include "solver/kernels/tile_product.h"
#include "solver/matrix/entry.h"
#include "solver/memory/page_buffer.h"
#include "solver/tree/assembly_tree.h"
#include "solver/tree/trapezoid.h"

namespace espalier::solver {

/// How panels are compressed. Tiles of doubles that lose no more than the same once more
/// by it are kept in single precision, for which no entry of the matrix is too large or
/// too small (uniform_log()).
struct LowRankOptions {
  /// What a tile of the factor may lose, in the Frobenius norm; 0: panels stay as they
  /// are.
  double tolerance = 0;
  /// What a tile of a contribution block may lose, likewise.
  double contribution_tolerance = 0;
};

/// The panel of a front, or its contribution block, whose tiles below the diagonal blocks
/// are compressed where that pays, and kept in single precision where that loses nothing
/// that counts. Tile (i, k) has the rows of block i of the front, or
/// of the contribution block, and the columns of block column k; blocks are those of
/// FrontStorage.
///
/// A tile is compressed where it stands (kernels::compress_tile()). When all of a block
/// column are final put_together() moves them to memory of their own, one after the
/// other, the diagonal block first and without most of what is above its diagonal; and
/// the memory of the block column leaves, whole.
struct LowRankPanel {
  explicit LowRankPanel(const Trapezoid& panel)
      : layout(panel),
        blocks(panel.blocks() + (panel.rows() - panel.columns() + width() - 1) / width()),
        rank(static_cast<std::size_t>(panel.blocks()) * blocks, kernels::kFullRank),
        single(rank.size(), 0),
        norm(rank.size(), 0),
        place(rank.size(), -1),
        together(static_cast<std::size_t>(panel.blocks())) {}

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
  /// Behind the last column of a block column.
  [[nodiscard]] std::int32_t last(std::int32_t column) const {
    return layout.first(column) + layout.width(column);
  }
  /// The block that begins with a row.
  [[nodiscard]] std::int32_t block_of(std::int32_t row) const {
    return row < layout.columns() ? row / width()
                                  : layout.blocks() + (row - layout.columns()) / width();
  }
  [[nodiscard]] std::size_t number(std::int32_t row, std::int32_t column) const {
    return static_cast<std::size_t>(column) * blocks + row;
  }
  /// A diagonal block that has been put together.
  [[nodiscard]] Trapezoid packed_diagonal(std::int32_t block) const {
    return solver::packed_diagonal(layout.width(block));
  }
  /// Entries that a tile at or under the diagonal takes, put together; two in single
  /// precision count as one.
  [[nodiscard]] std::int64_t entries(std::int32_t row, std::int32_t column) const {
    if (row == column) return packed_diagonal(column).entries();
    const std::int64_t m = rows(row), n = layout.width(column);
    const std::int64_t r = rank[number(row, column)];
    const std::int64_t all = r == kernels::kFullRank ? m * n : r * (m + n);
    return single[number(row, column)] != 0 ? (all + 1) / 2 : all;
  }
  /// All tiles of a block column.
  [[nodiscard]] std::int64_t column_entries(std::int32_t column) const {
    std::int64_t sum = 0;
    for (std::int32_t i = column; i < blocks; ++i) sum += entries(i, column);
    return sum;
  }

  /// What those take that have been put together and not released.
  [[nodiscard]] Bytes bytes() const {
    Bytes sum = 0;
    for (const PageBuffer& column : together) sum += column.size();
    return sum;
  }

  /// Tile (row, column). Of a diagonal block, which is in full, as long as it has not
  /// been put together.
  /// @param panel  where those are that have not been
  template <class T>
  [[nodiscard]] kernels::Tile<T> tile(const T* panel, std::int32_t row,
                                      std::int32_t column) const {
    const std::int32_t r = rank[number(row, column)];
    const std::int32_t skipped = std::max(r, 0);
    if (const std::int64_t at = place[number(row, column)]; at >= 0) {
      const T* const u = together[column].template as<T>() + at;
      const std::int32_t m = rows(row), n = layout.width(column);
      if (single[number(row, column)] != 0)
        return {nullptr, m, nullptr, n, r, reinterpret_cast<const float*>(u)};
      return {u, m, u + std::int64_t{skipped} * m, n, r};
    }
    const std::int32_t leading = layout.leading(column);
    const T* const u = panel + layout.offset(column) + (first(row) - first(column));
    return {u, leading, u + std::int64_t{skipped} * leading, leading, r};
  }

  Trapezoid layout;
  std::int32_t blocks;              ///< of the front
  std::vector<std::int32_t> rank;   ///< of each tile, number()
  std::vector<std::int8_t> single;  ///< likewise: put together in single precision
  std::vector<float> norm;          ///< likewise: Frobenius; of doubles
  /// Likewise, in entries, in what is together of its block column; -1: as it is laid
  /// out.
  std::vector<std::int64_t> place;
  std::vector<PageBuffer> together;  ///< of each block column
  std::atomic<std::int64_t> flops{0}, full_flops{0};
  /// Of a panel: the front's contribution block, until its parent has it; null: in full.
  std::unique_ptr<LowRankPanel> contribution;
};

/// Where a diagonal block may be unpacked: of complex entries there are none.
template <class T>
struct DiagonalWork {
  std::array<T, kIsComplex<T> ? 1 : std::size_t{kLowRankWidth} * kLowRankWidth> entries;
};

/// The diagonal block of a panel's block column, and its leading dimension.
/// @param low_rank  of the panel; null: it is laid out as planned, at `panel`
/// @param work      where it is unpacked if need be
template <class T>
[[nodiscard]] std::pair<const T*, std::int32_t> diagonal_block(
    const LowRankPanel* low_rank, const Trapezoid& layout, const T* panel,
    std::int32_t block, DiagonalWork<T>& work);

/// Adds what became of a panel.
void add_to(LowRankStatistics& sum, const LowRankPanel& panel, Bytes entry_bytes);

/// Puts the final tiles of a block column one after the other.
/// @param data      of the panel
/// @param together  where they go: column_entries(column)
/// @par Cost  a copy of what stays
template <class T>
void put_together(LowRankPanel& panel, std::int32_t column, const T* data,
                  PageBuffer together);

}  // namespace espalier::solver
