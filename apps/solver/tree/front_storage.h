#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "solver/tree/row_strips.h"
#include "solver/tree/trapezoid.h"

namespace espalier::solver {

/// Where the entries of a front lie: its pivot columns (the panel) and its contribution
/// block, each a Trapezoid, once for symmetric kinds and twice for LU.
///
/// Side 0 holds the entries (i, j) with i >= j, side 1 (LU) those opposite: the entry
/// (j, i) where side 0 has (i, j). So both sides are assembled, updated and stored by the
/// same code. A diagonal block is brought together in side 0 when it is factored: L under
/// its diagonal, U on and above it; side 1 then is U transposed under that block.
///
/// Rows of a front that processes share may be cut into strips, its block columns into
/// tiles that stand by themselves (tile_place()).
template <class T>
struct FrontStorage {
  Trapezoid panel_layout, contribution_layout;
  std::int32_t sides = 1;
  std::array<T*, 2> panel{}, contribution{};
  /// First row of each strip, and the order; empty: all rows are one.
  std::span<const std::int32_t> strips{};

  /// Of one strip: where entry (i, column) of a side lies, less i; i >=
  /// first(block_of(column)).
  [[nodiscard]] T* column(std::int32_t side, std::int32_t j) const {
    const std::int32_t pivots = panel_layout.columns();
    return j < pivots ? panel[side] + panel_layout.column_offset(j)
                      : contribution[side] +
                            contribution_layout.column_offset(j - pivots) - pivots;
  }
};

/// A block column of a front, counted through panel and contribution blocks, or its tile
/// on the diagonal where rows are cut into strips.
template <class T>
struct BlockColumn {
  std::array<T*, 2> data;              ///< entry (first, first) of each side
  std::int32_t first, width, leading;  ///< first row and column, within the front

  [[nodiscard]] std::span<T> entries(std::int32_t side) const {
    return {data[side], static_cast<std::size_t>(leading) * width};
  }
};

/// Rows [begin, end) of a block column: those of one strip.
template <class T>
struct BlockTile {
  std::array<T*, 2> data;  ///< entry (begin, first column) of each side
  std::int32_t begin, end, width;

  [[nodiscard]] std::int32_t leading() const { return end - begin; }
  [[nodiscard]] T* row(std::int32_t side, std::int32_t i) const {
    return data[side] + (i - begin);
  }
  [[nodiscard]] std::span<T> entries(std::int32_t side) const {
    return {data[side], static_cast<std::size_t>(leading()) * width};
  }
};

/// First column of part `part` of a block column, cut into `parts` as even as can be.
[[nodiscard]] constexpr std::int32_t slice_start(std::int32_t width, std::int32_t part,
                                                 std::int32_t parts) {
  return width * part / parts;
}

/// The tile of a block column that has a row of the front, at or under its diagonal.
template <class T>
[[nodiscard]] BlockTile<T> block_tile(const FrontStorage<T>& front, std::int32_t block,
                                      std::int32_t row) {
  const std::int32_t panels = front.panel_layout.blocks();
  const bool in_panel = block < panels;
  const Trapezoid& layout = in_panel ? front.panel_layout : front.contribution_layout;
  const std::array<T*, 2>& base = in_panel ? front.panel : front.contribution;
  const std::int32_t local = in_panel ? block : block - panels;
  const std::int32_t before = in_panel ? 0 : front.panel_layout.columns();
  std::int32_t begin = 0, end = front.panel_layout.rows();
  if (!front.strips.empty()) {
    const std::int32_t strip = strip_of_row(front.strips, row);
    begin = front.strips[strip];
    end = front.strips[strip + 1];
  }
  const TilePlace place = tile_place(layout, local, begin - before, end - before);
  return {{base[0] + place.offset, front.sides == 2 ? base[1] + place.offset : nullptr},
          place.begin + before,
          place.end + before,
          layout.width(local)};
}

template <class T>
[[nodiscard]] BlockColumn<T> block_column(const FrontStorage<T>& front,
                                          std::int32_t block) {
  const std::int32_t panels = front.panel_layout.blocks();
  const std::int32_t first = block < panels
                                 ? front.panel_layout.first(block)
                                 : front.panel_layout.columns() +
                                       front.contribution_layout.first(block - panels);
  const BlockTile<T> tile = block_tile(front, block, first);
  return {tile.data, first, tile.width, tile.leading()};
}

/// The columns of slice number `slice`, of so many slices of each block column; none,
/// where one has fewer columns than slices.
template <class T>
[[nodiscard]] BlockColumn<T> slice_of(const FrontStorage<T>& front, std::int32_t slice,
                                      std::int32_t slices) {
  BlockColumn<T> columns = block_column(front, slice / slices);
  const std::int32_t part = slice % slices;
  const std::int32_t begin = slice_start(columns.width, part, slices);
  for (std::int32_t side = 0; side < front.sides; ++side)
    columns.data[side] += std::int64_t{begin} * columns.leading;
  columns.width = slice_start(columns.width, part + 1, slices) - begin;
  columns.first += begin;
  return columns;
}

}  // namespace espalier::solver
