#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "solver/tree/trapezoid.h"

namespace espalier::solver {

/// [begin, end)
struct IndexRange {
  std::int32_t begin = 0, end = 0;
};

/// Rows [begin, end) of a block column of a Trapezoid that stand by themselves, from
/// `offset` on, in entries: column by column with as many rows as they are as leading
/// dimension.
struct TilePlace {
  std::int32_t begin = 0, end = 0;
  std::int64_t offset = 0;

  [[nodiscard]] std::int32_t rows() const { return end - begin; }
};

/// The rows [begin, end) of a trapezoid, which are a strip of it, in one block column.
/// Block columns have the places that the trapezoid gives them; inside them the tiles of
/// the strips follow one another:
///
///   rows 5, columns 4, width 2,     block 0   block 1
///   strips [0, 3) and [3, 5)        a .
///                                   b f
///                                   c g       k .
///                                   d h       l n
///                                   e i       m o
///
///   in memory: a b c . f g | d e h i || k . | l m n o
///
/// One strip of all rows: the tiles are the block columns.
[[nodiscard]] inline TilePlace tile_place(const Trapezoid& layout, std::int32_t block,
                                          std::int32_t begin, std::int32_t end) {
  const std::int32_t first = layout.first(block);
  begin = std::clamp(begin, first, layout.rows());
  end = std::clamp(end, begin, layout.rows());
  return {begin, end,
          layout.offset(block) + std::int64_t{begin - first} * layout.width(block)};
}

/// The strip of a row. @param strips  first row of each, and the end of the last
[[nodiscard]] inline std::int32_t strip_of_row(std::span<const std::int32_t> strips,
                                               std::int32_t row) {
  return static_cast<std::int32_t>(std::upper_bound(strips.begin(), strips.end(), row) -
                                   strips.begin() - 1);
}

/// Entries [begin, end) of a trapezoid.
using EntryRange = std::pair<std::int64_t, std::int64_t>;

/// Where columns of a block column stand in one of its tiles.
[[nodiscard]] inline EntryRange tile_columns(const Trapezoid& layout,
                                             const TilePlace& tile, std::int32_t first,
                                             std::int32_t last) {
  const std::int32_t column = layout.first(layout.block_of(first));
  return {tile.offset + std::int64_t{first - column} * tile.rows(),
          tile.offset + std::int64_t{last - column} * tile.rows()};
}

/// Where the columns before `column` stand: increasing and apart, one range where there
/// is one strip.
/// @param strips  of the trapezoid's rows, which may begin before them
[[nodiscard]] std::vector<EntryRange> columns_before(const Trapezoid& layout,
                                                     std::span<const std::int32_t> strips,
                                                     std::int32_t column);

}  // namespace espalier::solver
