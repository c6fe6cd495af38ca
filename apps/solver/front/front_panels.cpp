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
  const BlockColumn<T> column = block_column(storage_, block);
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
  const std::int32_t eliminated = open_->counts.eliminated;
  const std::int32_t kept = kernels::solve_rows(
      kind(), pivots, eliminated, context_.pivoting.threshold, rows(0), scratch);
  if (kind() == FactorKind::kLu)
    kernels::solve_right_rows(pivots, eliminated, rows(1), scratch);
  const std::scoped_lock lock(open_->mutex);
  open_->rows.push_back({begin, end, kept});
}

template <class T>
void Front<T>::accept(std::int32_t block) {
  const BlockColumn<T> column = block_column(storage_, block);
  std::int32_t eliminated = agree(column);
  Slots slots = std::move(open_->slots);
  const bool tried = eliminated == open_->counts.eliminated;
  open_.reset();
  PivotRows rows;
  add_rows(column, column.first + column.width, order(), rows);
  add_slots(slots, rows);
  const PivotBlock<T> pivots = pivot_block(column, rows);
  const bool may_delay = context_.pivoting.delay_reserve > 0;
  if (!tried && may_delay)
    eliminated = continue_pivots(pivots, eliminated, Rest::kThreshold);
  const std::int32_t left = column.width - eliminated;
  if (left > 0 && !(may_delay && pay_for_slots(slots.count, left)))
    eliminated =
        continue_pivots(pivots, eliminated, may_delay ? Rest::kLastResort : Rest::kAll);
  close_panel(block, column, eliminated, slots);
}

// Puts back in all rows what not all of them bear. @return columns that are eliminated
template <class T>
std::int32_t Front<T>::agree(const BlockColumn<T>& column) {
  OpenPanel& panel = *open_;
  const std::int32_t tried = panel.counts.eliminated;
  PivotRows rows;
  std::vector<std::int32_t> kept = {tried, tried};
  add_rows(column, column.first + column.width, panel.end, rows);
  add_slots(panel.slots, rows);
  for (const auto& [begin, end, count] : panel.rows) {
    add_rows(column, begin, end, rows);
    kept.push_back(count);
  }
  const std::int32_t all = *std::min_element(kept.begin(), kept.end());
  if (all == tried) {
    log_counts(panel.counts, false);
    return all;
  }
  const PivotBlock<T> pivots = pivot_block(column, rows);
  std::vector<T> large;
  kernels::put_back(kind(), pivots, tried, kept, all, pivot_scratch(column.width, large));
  log_counts(kernels::count_pivots(kind(), pivots, all), false);
  return all;
}

#define ESPALIER_INSTANTIATE(T)                                            \
  template void Front<T>::solve(std::int32_t, std::int32_t, std::int32_t); \
  template void Front<T>::accept(std::int32_t);                            \
  template std::int32_t Front<T>::agree(const BlockColumn<T>&);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
