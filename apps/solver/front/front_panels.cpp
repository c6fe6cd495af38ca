// Block columns of a front that are factored by tiles: pivots inside the diagonal block,
// applied to the other rows in parts, accepted by all of them together.

#include <algorithm>

#include "solver/front/front.h"
#include "solver/kernels/dense.h"
#include "solver/kernels/row_tiles.h"

namespace espalier::solver {

using kernels::PivotBlock;
using kernels::RowSegment;

template <class T>
void Front<T>::solve(std::int32_t block, std::int32_t begin, std::int32_t end) {
  const BlockColumn<T> column = tried_column(block);
  const BlockTile<T> tile = block_tile(storage_, block, begin);
  const auto rows = [&](std::int32_t side) {
    return RowSegment<T>{tile.row(side, begin), tile.leading(), end - begin};
  };
  if (kind() == FactorKind::kCholesky) {
    kernels::solve_below(end - begin, column.width, column.data[0], column.leading,
                         rows(0).data, tile.leading());
    if (is_low_rank()) compress(block, begin);
    return;
  }
  const PivotRows none;
  const PivotBlock<T> pivots = pivot_block(column, none);
  std::vector<T> large;
  const std::span<T> scratch = pivot_scratch(column.width, large);
  OpenPanel& open = *opened(block);
  const std::int32_t eliminated = open.counts.eliminated;
  const std::int32_t kept = kernels::solve_rows(
      kind(), pivots, eliminated, context_.pivoting.threshold, rows(0), scratch);
  if (kind() == FactorKind::kLu)
    kernels::solve_right_rows(pivots, eliminated, rows(1), scratch);
  const std::scoped_lock lock(open.mutex);
  open.rows.push_back({begin, end, kept});
}

template <class T>
void Front<T>::accept(std::int32_t block) {
  std::unique_ptr<OpenPanel>& open = open_[follows(block) ? 0 : 1];
  if (!open) return;  // factor() has failed
  if (open->agreed < 0) agree(block, borne(block), true);
  const bool may_delay = context_.pivoting.delay_reserve > 0, more = open->more;
  const std::int32_t agreed = open->agreed;
  const BlockColumn<T> column = block_column(storage_, block);
  if (open->trial != nullptr) {  // the rows are here, the diagonal block is not
    if (!more) notes_[block][0] = may_delay ? agreed : column.width;
    open.reset();
    return;
  }
  // After a failure elsewhere nothing is tried: the columns count, not what they hold.
  const std::int32_t eliminated = more        ? try_again(block, column, *open)
                                  : may_delay ? agreed
                                              : column.width;
  const Slots slots = std::move(open->slots);
  open.reset();
  close_panel(block, column, eliminated, slots);
}

// By the threshold, and what is left then if it may not be put off.
// @return columns that are eliminated
template <class T>
std::int32_t Front<T>::try_again(std::int32_t block, const BlockColumn<T>& column,
                                 OpenPanel& open) {
  std::int32_t eliminated = open.agreed;
  const bool tried = eliminated == open.counts.eliminated;
  if (tried && eliminated == column.width) return eliminated;
  PivotRows rows;
  add_all_rows(block, rows);
  add_slots(open.slots, rows);
  const PivotBlock<T> pivots = pivot_block(column, rows);
  const bool may_delay = context_.pivoting.delay_reserve > 0;
  if (!tried && may_delay)
    eliminated = continue_pivots(pivots, eliminated, Rest::kThreshold);
  const std::int32_t left = column.width - eliminated;
  if (left == 0 || (may_delay && may_put_off(open.slots.count, left))) return eliminated;
  return continue_pivots(pivots, eliminated, Rest::kAll);
}

// Group by group, as they may be at several processes.
template <class T>
void Front<T>::add_all_rows(std::int32_t block, PivotRows& rows) const {
  const BlockColumn<T> column = block_column(storage_, block);
  for (const auto& [begin, end] : row_groups(column.first + column.width, order())) {
    const auto away = std::ranges::find_if(opened(block)->rest, [&](const auto& rest) {
      return rest.begin <= begin && begin < rest.end;
    });
    if (away == opened(block)->rest.end()) {
      add_rows(block, begin, end, rows);
      continue;
    }
    for (std::int32_t side = 0; side < storage_.sides; ++side)
      (side == 0 ? rows.lower : rows.upper)
          .push_back({away->sides[side] + (begin - away->begin), away->end - away->begin,
                      end - begin});
  }
}

template <class T>
std::int32_t Front<T>::borne(std::int32_t block) const {
  if (!opened(block)) return 0;
  std::int32_t least = tried(block);
  for (const auto& rows : opened(block)->rows) least = std::min(least, rows.kept);
  return least;
}

template <class T>
void Front<T>::agree(std::int32_t block, std::int32_t agreed, bool more) {
  if (!opened(block)) return;
  OpenPanel& panel = *opened(block);
  panel.agreed = agreed;
  panel.more = more;
  const bool has_diagonal = panel.trial == nullptr;
  const std::int32_t tried = panel.counts.eliminated;
  if (agreed == tried) {
    if (has_diagonal) log_counts(panel.counts, false);
    return;
  }
  const BlockColumn<T> column = tried_column(block);
  PivotRows rows;
  std::vector<std::int32_t> kept;
  if (has_diagonal) {
    kept = {tried, tried};
    add_rows(block, column.first + column.width, panel.end, rows);
    add_slots(panel.slots, rows);
  }
  for (const auto& [begin, end, count] : panel.rows) {
    add_rows(block, begin, end, rows);
    kept.push_back(count);
  }
  const PivotBlock<T> pivots = pivot_block(column, rows);
  std::vector<T> large;
  kernels::put_back(kind(), pivots, tried, kept, agreed,
                    pivot_scratch(column.width, large));
  if (has_diagonal) log_counts(kernels::count_pivots(kind(), pivots, agreed), false);
}

// Where the diagonal block is that was tried.
template <class T>
BlockColumn<T> Front<T>::tried_column(std::int32_t block) const {
  BlockColumn<T> column = block_column(storage_, block);
  if (!opened(block) || opened(block)->trial == nullptr) return column;
  column.data[0] = opened(block)->trial;
  column.leading = column.width;
  return column;
}

// The rows in [begin, end) of each group; of a front that is one task they are one.
template <class T>
std::vector<IndexRange> Front<T>::row_groups(std::int32_t begin, std::int32_t end) const {
  const AssemblyTree& tree = context_.tree;
  if (!tree.is_tiled[front_]) return {{begin, end}};
  const TileShape shape =
      tile_shape(tree, front_, panels(), blocks(), false,
                 panels() - tree.panel(context_.symbolic, front_).blocks());
  std::vector<IndexRange> groups;
  for (std::int32_t row = 0; row < shape.groups(); ++row) {
    const std::int32_t next = std::min(end, first_row(shape.first_block(row + 1)));
    if (begin < next) groups.push_back({begin, next});
    begin = std::max(begin, next);
  }
  return groups;
}

#define ESPALIER_INSTANTIATE(T)                                                     \
  template void Front<T>::solve(std::int32_t, std::int32_t, std::int32_t);          \
  template void Front<T>::accept(std::int32_t);                                     \
  template std::int32_t Front<T>::borne(std::int32_t) const;                        \
  template std::vector<IndexRange> Front<T>::row_groups(std::int32_t, std::int32_t) \
      const;                                                                        \
  template void Front<T>::agree(std::int32_t, std::int32_t, bool);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
