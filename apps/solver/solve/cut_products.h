#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "solver/solve/tile_runner.h"
#include "solver/solve/vectors.h"

namespace espalier::solver {

/// Part of a panel: columns one after the other.
template <class T>
struct PanelPart {
  std::int32_t rows, columns;
  const T* data;
  std::int32_t leading;
};

/// Rows of a part of a panel, from row `row` of the front on.
template <class T>
struct PanelRows {
  std::int32_t row, rows;
  const T* data;
  std::int32_t leading;
};

/// The rows of a part of a panel, in groups that may be at different processes.
template <class T>
struct PanelGroups {
  std::int32_t rows, columns;  ///< of all groups
  std::span<const PanelRows<T>> groups;
};

/// How a product with a part of a panel is cut: by its size and the number of vectors
/// alone, because BLAS may round a product with fewer rows otherwise. So a solution has
/// the same bits whoever solves, alone or with others.
///
///   1100 rows in 2 tiles, ends at multiples of 8     [0, 544) [544, 1100)
struct ProductTiles {
  std::int32_t tiles = 1, size = 0;

  /// Tile t is [begin(t), begin(t + 1)).
  [[nodiscard]] std::int32_t begin(std::int32_t t) const {
    if (t == tiles) return size;
    const auto even = static_cast<std::int32_t>(std::int64_t{size} * t / tiles);
    return even / kEnds * kEnds;
  }

 private:
  static constexpr std::int32_t kEnds = 8;
};

/// Whether a product is worth tiles: from some 100 us on.
[[nodiscard]] bool is_worth_tiles(std::int64_t entries, std::int32_t nrhs);

/// Tiles of rows, of some 512 each; one where there is little to do.
[[nodiscard]] ProductTiles row_tiles(std::int32_t rows, std::int32_t columns,
                                     std::int32_t nrhs);
/// Tiles of columns: of some 64 each with one vector, of 112 with several. Every entry of
/// the result is one tile's: nothing is added up between tiles.
[[nodiscard]] ProductTiles column_tiles(std::int32_t rows, std::int32_t columns,
                                        std::int32_t nrhs);

/// y := y - A x by tiles of rows: the way up, of rows below a block.
/// @param runner  null: the caller alone; the bits are the same
/// @par Cost  2 flops for each entry of A and vector; nothing is allocated
/// @par Test  CutProducts
template <class T>
void apply_below(TileRunner* runner, const PanelPart<T>& a, const Vectors<T>& x,
                 const Vectors<T>& y);

/// x := x - A^H y by tiles of columns, A^T of real entries: the way back.
template <class T>
void apply_below_transposed(TileRunner* runner, const PanelPart<T>& a,
                            const Vectors<T>& y, const Vectors<T>& x);

/// The same of groups of rows, each by itself. Vectors y are of all rows of the front.
/// @param y  y := y - A x
template <class T>
void apply_below(TileRunner* runner, const PanelGroups<T>& a, const Vectors<T>& x,
                 const Vectors<T>& y);

/// What groups do to x is formed group by group and added in their order.
/// @param x  x := x - A^H y
/// @param part  work space of the size of x
template <class T>
void apply_below_transposed(TileRunner* runner, const PanelGroups<T>& a,
                            const Vectors<T>& y, const Vectors<T>& x,
                            const Vectors<T>& part);

/// A group's part of that, which add_part() adds: part := -A^H y.
/// @param rows  of all groups
template <class T>
void apply_group_transposed(std::int32_t rows, std::int32_t columns,
                            const PanelRows<T>& a, const Vectors<T>& y,
                            const Vectors<T>& part);

/// x := x + part, in entries [begin, end) of each vector.
template <class T>
void add_part(const Vectors<T>& part, std::int32_t begin, std::int32_t end,
              const Vectors<T>& x) {
  for (std::int32_t v = 0; v < x.count; ++v)
    for (std::int32_t k = begin; k < end; ++k)
      x.data[v * x.stride + k] += part.data[v * part.stride + k];
}

}  // namespace espalier::solver
