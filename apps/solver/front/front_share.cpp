// What a front has to know of the tiles that are here when processes share it.

#include <algorithm>

#include "solver/front/front.h"
#include "solver/tree/extend_add.h"

namespace espalier::solver {

template <class T>
void Front<T>::add_originals(std::int32_t begin, std::int32_t end) {
  const auto first =
      std::ranges::lower_bound(*share_.original, begin, {}, &FrontEntry<T>::column);
  for (auto at = first; at != share_.original->end() && at->column < end; ++at) {
    const std::int32_t block = storage_.panel_layout.block_of(at->column);
    const std::int32_t row =
        at->row < context_.symbolic.pivots(front_) ? at->row : at->row + delayed_in_;
    const BlockTile<T> to = block_tile(storage_, block, row);
    const std::int64_t column = at->column - storage_.panel_layout.first(block);
    for (std::int32_t side = 0; side < storage_.sides; ++side)
      to.row(side, row)[column * to.leading()] += at->value[side];
  }
}

template <class T>
std::int32_t Front<T>::first_row(std::int32_t block) const {
  const Trapezoid& panel = storage_.panel_layout;
  if (block < panels()) return panel.first(block);
  return std::min(order(),
                  panel.columns() + storage_.contribution_layout.first(block - panels()));
}

template <class T>
std::int32_t Front<T>::strip_of(std::int32_t block) const {
  return storage_.strips.empty() ? 0 : strip_of_row(storage_.strips, first_row(block));
}

template <class T>
BlockTile<T> Front<T>::tile(std::int32_t strip, std::int32_t block) const {
  const std::int32_t first = first_row(block);
  return block_tile(
      storage_, block,
      storage_.strips.empty() ? first : std::max(first, storage_.strips[strip]));
}

template <class T>
void Front<T>::add_tile(std::int32_t child, const TilePlace& tile, std::int32_t side,
                        const T* source, std::span<const std::int32_t> positions,
                        std::int32_t first, std::int32_t last) {
  const Trapezoid layout = context_.tree.contribution(context_.symbolic, child);
  const std::int32_t block = block_of(positions[first]);
  const std::int32_t column = layout.first(layout.block_of(first));
  for (std::int32_t strip = 0; strip < strips(); ++strip) {
    if (!has(strip, block)) continue;
    IndexRange rows{std::max(tile.begin, first), tile.end};
    if (!storage_.strips.empty()) {
      rows.begin = std::max(rows.begin, rows_before(positions, storage_.strips[strip]));
      rows.end = std::min(rows.end, rows_before(positions, storage_.strips[strip + 1]));
    }
    if (rows.begin < rows.end)
      extend_add_rows(tile, source, column, positions, rows, {first, last}, block,
                      storage_, side);
  }
}

#define ESPALIER_INSTANTIATE(T)                                                  \
  template void Front<T>::add_originals(std::int32_t, std::int32_t);             \
  template std::int32_t Front<T>::first_row(std::int32_t) const;                 \
  template std::int32_t Front<T>::strip_of(std::int32_t) const;                  \
  template BlockTile<T> Front<T>::tile(std::int32_t, std::int32_t) const;        \
  template void Front<T>::add_tile(std::int32_t, const TilePlace&, std::int32_t, \
                                   const T*, std::span<const std::int32_t>,      \
                                   std::int32_t, std::int32_t);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
