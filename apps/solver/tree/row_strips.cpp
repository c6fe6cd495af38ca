#include "solver/tree/row_strips.h"

namespace espalier::solver {

std::vector<EntryRange> columns_before(const Trapezoid& layout,
                                       std::span<const std::int32_t> strips,
                                       std::int32_t column) {
  if (strips.size() <= 2 || column >= layout.columns())
    return {{0, layout.entries_before(column)}};
  const std::int32_t block = layout.block_of(column), first = layout.first(block);
  std::vector<EntryRange> ranges{{0, layout.offset(block)}};
  for (std::size_t s = 0; column > first && s + 1 < strips.size(); ++s) {
    const TilePlace tile = tile_place(layout, block, strips[s], strips[s + 1]);
    const EntryRange next = tile_columns(layout, tile, first, column);
    if (next.first == ranges.back().second)
      ranges.back().second = next.second;
    else
      ranges.push_back(next);
  }
  return ranges;
}

}  // namespace espalier::solver
