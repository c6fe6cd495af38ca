#include "solver/solve/cut_products.h"

#include "solver/kernels/block_solve.h"

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

#define ESPALIER_INSTANTIATE(T)                                                  \
  template void apply_below(TileRunner*, const PanelPart<T>&, const Vectors<T>&, \
                            const Vectors<T>&);                                  \
  template void apply_below_transposed(TileRunner*, const PanelPart<T>&,         \
                                       const Vectors<T>&, const Vectors<T>&);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
