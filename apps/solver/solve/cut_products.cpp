#include "solver/solve/cut_products.h"

#include <algorithm>

#include "solver/kernels/block_solve.h"
#include "solver/tree/row_strips.h"

namespace espalier::solver {
namespace {

constexpr std::int64_t kWorthTiles = std::int64_t{1} << 18;  // entries, of one vector
// One vector takes as long as the panel takes to read, four or more as their flops do.
constexpr std::int32_t kVectorsOfRead = 4;
constexpr std::int32_t kTileRows = 512;
// BLAS copies the vectors anew for each tile of several.
constexpr std::int32_t kTileColumns = 64, kTileColumnsOfMany = 112;

ProductTiles tiles_of(std::int32_t size, std::int32_t each) {
  return {std::max(1, size / each), size};
}

}  // namespace

bool is_worth_tiles(std::int64_t entries, std::int32_t nrhs) {
  return entries * std::min(nrhs, kVectorsOfRead) >= kWorthTiles;
}

ProductTiles row_tiles(std::int32_t rows, std::int32_t columns, std::int32_t nrhs) {
  if (!is_worth_tiles(std::int64_t{rows} * columns, nrhs)) return {1, rows};
  return tiles_of(rows, kTileRows);
}

ProductTiles column_tiles(std::int32_t rows, std::int32_t columns, std::int32_t nrhs) {
  if (!is_worth_tiles(std::int64_t{rows} * columns, nrhs)) return {1, columns};
  return tiles_of(columns, nrhs == 1 ? kTileColumns : kTileColumnsOfMany);
}

template <class T>
void apply_below(TileRunner* runner, const PanelPart<T>& a, const Vectors<T>& x,
                 const Vectors<T>& y) {
  const ProductTiles cut = row_tiles(a.rows, a.columns, x.count);
  run_tiles(runner, cut.tiles, [&](std::int32_t t) {
    const std::int32_t begin = cut.begin(t);
    kernels::apply_below(cut.begin(t + 1) - begin, a.columns, a.data + begin, a.leading,
                         x.count, x.data, static_cast<std::int32_t>(x.stride),
                         y.data + begin, static_cast<std::int32_t>(y.stride));
  });
}

template <class T>
void apply_below_transposed(TileRunner* runner, const PanelPart<T>& a,
                            const Vectors<T>& y, const Vectors<T>& x) {
  const ProductTiles cut = column_tiles(a.rows, a.columns, x.count);
  run_tiles(runner, cut.tiles, [&](std::int32_t t) {
    const std::int32_t begin = cut.begin(t);
    kernels::apply_below_transposed(a.rows, cut.begin(t + 1) - begin,
                                    a.data + std::int64_t{begin} * a.leading, a.leading,
                                    x.count, y.data, static_cast<std::int32_t>(y.stride),
                                    x.data + begin, static_cast<std::int32_t>(x.stride));
  });
}

// A group has tiles as it would have by itself, where all groups are worth them.
template <class T>
void apply_below(TileRunner* runner, const PanelGroups<T>& a, const Vectors<T>& x,
                 const Vectors<T>& y) {
  const bool worth = is_worth_tiles(std::int64_t{a.rows} * a.columns, x.count);
  const auto cut = [&](const PanelRows<T>& group) {
    return worth ? tiles_of(group.rows, kTileRows) : ProductTiles{1, group.rows};
  };
  std::int32_t tiles = 0;
  for (const PanelRows<T>& group : a.groups) tiles += cut(group).tiles;
  run_tiles(worth ? runner : nullptr, tiles, [&](std::int32_t t) {
    auto group = a.groups.begin();
    for (; t >= cut(*group).tiles; ++group) t -= cut(*group).tiles;
    const std::int32_t begin = cut(*group).begin(t);
    kernels::apply_below(cut(*group).begin(t + 1) - begin, a.columns, group->data + begin,
                         group->leading, x.count, x.data,
                         static_cast<std::int32_t>(x.stride), y.data + group->row + begin,
                         static_cast<std::int32_t>(y.stride));
  });
}

namespace {

// Columns [begin, end) of a group's part.
template <class T>
void apply_columns(const PanelRows<T>& a, IndexRange columns, const Vectors<T>& y,
                   const Vectors<T>& part) {
  const std::int32_t width = columns.end - columns.begin;
  for (std::int32_t v = 0; v < part.count; ++v)
    std::fill_n(part.data + v * part.stride + columns.begin, width, T{0});
  kernels::apply_below_transposed(
      a.rows, width, a.data + std::int64_t{columns.begin} * a.leading, a.leading,
      part.count, y.data + a.row, static_cast<std::int32_t>(y.stride),
      part.data + columns.begin, static_cast<std::int32_t>(part.stride));
}

}  // namespace

template <class T>
void apply_below_transposed(TileRunner* runner, const PanelGroups<T>& a,
                            const Vectors<T>& y, const Vectors<T>& x,
                            const Vectors<T>& part) {
  const ProductTiles cut = column_tiles(a.rows, a.columns, x.count);
  run_tiles(runner, cut.tiles, [&](std::int32_t t) {
    const IndexRange columns{cut.begin(t), cut.begin(t + 1)};
    for (const PanelRows<T>& group : a.groups) {
      apply_columns(group, columns, y, part);
      add_part(part, columns.begin, columns.end, x);
    }
  });
}

template <class T>
void apply_group_transposed(std::int32_t rows, std::int32_t columns,
                            const PanelRows<T>& a, const Vectors<T>& y,
                            const Vectors<T>& part) {
  const ProductTiles cut = column_tiles(rows, columns, y.count);
  for (std::int32_t t = 0; t < cut.tiles; ++t)
    apply_columns(a, {cut.begin(t), cut.begin(t + 1)}, y, part);
}

#define ESPALIER_INSTANTIATE(T)                                                         \
  template void apply_below(TileRunner*, const PanelPart<T>&, const Vectors<T>&,        \
                            const Vectors<T>&);                                         \
  template void apply_below_transposed(TileRunner*, const PanelPart<T>&,                \
                                       const Vectors<T>&, const Vectors<T>&);           \
  template void apply_below(TileRunner*, const PanelGroups<T>&, const Vectors<T>&,      \
                            const Vectors<T>&);                                         \
  template void apply_below_transposed(TileRunner*, const PanelGroups<T>&,              \
                                       const Vectors<T>&, const Vectors<T>&,            \
                                       const Vectors<T>&);                              \
  template void apply_group_transposed(std::int32_t, std::int32_t, const PanelRows<T>&, \
                                       const Vectors<T>&, const Vectors<T>&);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
