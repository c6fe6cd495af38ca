// The parts of a front that search pivots and carry the columns that found none, down to
// the tail: over 300 lines.

#include <fmt/format.h>

#include <algorithm>

#include "espalier/model/error.h"
#include "espalier/model/free_memory.h"
#include "solver/front/block_updates.h"
#include "solver/front/front.h"
#include "solver/kernels/update.h"
#include "solver/tree/delayed_panel.h"

namespace espalier::solver {
namespace {

using kernels::PivotBlock;
using kernels::PivotCounts;
using kernels::PivotRule;
using kernels::RowSegment;

// values[k * stride] = old values[order[k] * stride], for every k
template <class V>
void permute(V* values, std::span<const std::int32_t> order, std::int64_t stride) {
  std::vector<V> old(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) old[k] = values[k * stride];
  for (std::size_t k = 0; k < order.size(); ++k) values[k * stride] = old[order[k]];
}

// Whether the parent of a front may take `count` more columns: the memory for what its
// panel grows by must be left.
template <class T>
bool pay_for_parent(const FrontContext<T>& context, std::int32_t front,
                    std::int32_t count) {
  const std::int32_t parent = context.symbolic.parent[front];
  if (context.tree.nodes[context.tree.node_of_front[parent]].shared)
    return count <= context.reserve.shared(parent).from_child;
  return context.reserve.pay(parent, count, 0, [&](std::int32_t more) {
    return delayed_panel_bytes(context.symbolic, context.tree, parent, more,
                               context.pool != nullptr);
  });
}

}  // namespace

// The rows [begin, end) of a block column, under its diagonal block: of one strip.
template <class T>
void Front<T>::add_rows(std::int32_t block, std::int32_t begin, std::int32_t end,
                        PivotRows& rows) const {
  const BlockTile<T> tile = block_tile(storage_, block, std::min(begin, order() - 1));
  for (std::int32_t side = 0; side < storage_.sides; ++side)
    (side == 0 ? rows.lower : rows.upper)
        .push_back({tile.row(side, begin), tile.leading(), end - begin});
}

template <class T>
void Front<T>::add_slots(Slots& slots, PivotRows& rows) const {
  for (std::int32_t side = 0; side < storage_.sides; ++side)
    (side == 0 ? rows.lower : rows.upper)
        .push_back({slots.rows[side].data(), std::max(slots.count, 1), slots.count});
}

template <class T>
PivotBlock<T> Front<T>::pivot_block(const BlockColumn<T>& column,
                                    const PivotRows& rows) const {
  PivotBlock<T> pivots{.width = column.width,
                       .diagonal = column.data[0],
                       .leading = column.leading,
                       .below = rows.lower,
                       .right = rows.upper,
                       .row_order = row_order_ + column.first,
                       .column_order = nullptr,
                       .d = nullptr};
  if (kind() == FactorKind::kLdlt) pivots.d = d_ + 2 * std::int64_t{column.first};
  if (kind() == FactorKind::kLu) pivots.column_order = column_order_ + column.first;
  return pivots;
}

template <class T>
void Front<T>::factor_with_pivoting(std::int32_t block, const BlockColumn<T>& column,
                                    std::int32_t end) {
  if (storage_.sides == 2) join_diagonal(column);
  Slots slots = slots_beside(column);
  PivotRows rows;
  add_rows(block, column.first + column.width, end, rows);
  add_slots(slots, rows);
  const PivotBlock<T> pivots = pivot_block(column, rows);
  if (end == order()) {
    const std::int32_t eliminated =
        take_pivots(pivots, Rest::kAll,
                    [&](std::int32_t left) { return may_put_off(slots.count, left); });
    return close_panel(block, column, eliminated, slots);
  }
  std::vector<T> large;
  std::unique_ptr<OpenPanel>& open = open_[0];
  open = std::make_unique<OpenPanel>();
  open->counts = kernels::factor_pivot_block(
      kind(), pivots, {context_.pivoting.threshold, context_.pivoting.zero, false},
      pivot_scratch(column.width, large));
  open->slots = std::move(slots);
  open->end = end;
  if (!notes_.empty()) note(block, column, open->counts.eliminated);
}

template <class T>
void Front<T>::note(std::int32_t block, const BlockColumn<T>& column,
                    std::int32_t eliminated) {
  std::vector<std::int32_t>& notes = notes_[block];
  notes[0] = eliminated;
  const std::int32_t* const orders[] = {row_order_, column_order_};
  for (std::int32_t side = 0; side < storage_.sides; ++side)
    std::copy_n(orders[side] + column.first, column.width,
                notes.data() + 1 + side * column.width);
}

template <class T>
void Front<T>::close_panel(std::int32_t block, const BlockColumn<T>& column,
                           std::int32_t eliminated, const Slots& slots) {
  if (!slots.rows[0].empty()) pass_on(block, column, eliminated, slots);
  if (eliminated < column.width) leave_slots(block, column, eliminated, slots);
  eliminated_[block] = eliminated;
  if (delays() != nullptr) delays()->eliminated[block] = eliminated;
  if (notes_.empty()) return;
  note(block, column, eliminated);
  slot_rows_[block] = slots;
  if (strips() > 1 && follows(block) && eliminated < column.width)
    slot_rows_[block].corner = corner_of(column, eliminated);
}

template <class T>
std::span<T> Front<T>::pivot_scratch(std::int32_t width, std::vector<T>& large) const {
  return context_.scratch.template at_least<T>(kernels::pivot_scratch(kind(), width),
                                               large);
}

// Eliminates what passes the threshold, and all of it where nothing may be delayed.
// @param rest  how what may not be left is taken
// @return columns eliminated
template <class T>
template <class MayLeave>
std::int32_t Front<T>::take_pivots(const PivotBlock<T>& block, Rest rest,
                                   MayLeave may_leave) {
  const PivotOptions& options = context_.pivoting;
  std::vector<T> large;
  const std::span<T> scratch = pivot_scratch(block.width, large);
  if (options.delay_reserve == 0) {
    take_all(block, false, scratch);
    return block.width;
  }
  const PivotCounts counts = kernels::factor_pivot_block(
      kind(), block, {options.threshold, options.zero, false}, scratch);
  log_counts(counts, false);
  const std::int32_t left = block.width - counts.eliminated;
  if (left == 0 || may_leave(left)) return counts.eliminated;
  return continue_pivots(block, counts.eliminated, rest);
}

// pay_for_slots(), and the log has what is not paid for.
template <class T>
bool Front<T>::may_put_off(std::int32_t slots, std::int32_t count) const {
  const bool paid = pay_for_slots(slots, count);
  if (!paid) context_.log.add({.not_delayed = count});
  return paid;
}

// Whether `count` more columns may go on as slots: the memory for it must be left.
template <class T>
bool Front<T>::pay_for_slots(std::int32_t slots, std::int32_t count) const {
  const AssemblyTree& tree = context_.tree;
  const std::int64_t order = pivots() + contribution_rows(), after = slots + count;
  if (tree.nodes[tree.node_of_front[front_]].shared)
    return SharedDelays::bytes_of_slots(order, after, storage_.sides, sizeof(T)) <=
           context_.reserve.shared(front_).slots;
  const Bytes own = static_cast<Bytes>(sizeof(T)) * storage_.sides *
                    (2 * count * order + 2 * after * after);
  return context_.reserve.pay(-1, count, own, {});
}

template <class T>
void Front<T>::take_all(const PivotBlock<T>& block, bool last_resort,
                        std::span<T> scratch) {
  const PivotOptions& options = context_.pivoting;
  const PivotCounts counts = kernels::factor_pivot_block(
      kind(), block,
      {options.threshold, options.perturbation, true,
       last_resort && context_.symbolic.ends_system(front_) ? options.of_zero : 0.0},
      scratch);
  if (counts.eliminated < block.width)
    throw InvalidInput(fmt::format("entries of the factor are too large for {}",
                                   sizeof(RealOf<T>) == sizeof(double)
                                       ? "double precision"
                                       : "single precision: take double"));
  log_counts(counts, last_resort);
}

// Once more the columns after the first `eliminated` ones of a block.
// @return columns eliminated then
template <class T>
std::int32_t Front<T>::continue_pivots(const PivotBlock<T>& block,
                                       std::int32_t eliminated, Rest rule) {
  const std::int32_t e = eliminated, left = block.width - e;
  const auto shifted = [&](std::span<const RowSegment<T>> segments) {
    std::vector<RowSegment<T>> result(segments.begin(), segments.end());
    for (RowSegment<T>& rows : result) rows.data += std::int64_t{e} * rows.leading;
    return result;
  };
  const auto below = shifted(block.below), right = shifted(block.right);
  std::vector<std::int32_t> rows(left), columns(left);
  PivotBlock<T> rest = block;
  rest.width = left;
  rest.diagonal += e + std::int64_t{e} * block.leading;
  rest.below = below;
  rest.right = right;
  rest.row_order = rows.data();
  rest.column_order = columns.data();
  if (rest.d != nullptr) rest.d += 2 * std::int64_t{e};
  const std::int32_t more = take_rest(rest, rule);
  permute(block.row_order + e, rows, 1);
  for (std::int32_t k = 0; k < e; ++k)
    permute(block.diagonal + e + std::int64_t{k} * block.leading, rows, 1);
  if (kind() != FactorKind::kLu) return e + more;
  permute(block.column_order + e, columns, 1);
  for (std::int32_t k = 0; k < e; ++k)
    permute(block.diagonal + k + std::int64_t{e} * block.leading, columns, block.leading);
  return e + more;
}

template <class T>
std::int32_t Front<T>::take_rest(const PivotBlock<T>& rest, Rest rule) {
  std::vector<T> large;
  const std::span<T> scratch = pivot_scratch(rest.width, large);
  if (rule != Rest::kThreshold) {
    take_all(rest, rule == Rest::kLastResort, scratch);
    return rest.width;
  }
  const PivotCounts counts = kernels::factor_pivot_block(
      kind(), rest, {context_.pivoting.threshold, context_.pivoting.zero, false},
      scratch);
  log_counts(counts, false);
  return counts.eliminated;
}

template <class T>
void Front<T>::log_counts(const PivotCounts& counts, bool last_resort) {
  const bool root = context_.symbolic.ends_system(front_);
  PivotStatistics statistics;
  const bool zeros = root && last_resort;
  (zeros ? statistics.null_space : statistics.perturbed) = counts.perturbed;
  statistics.negative = counts.negative - (zeros ? counts.negative_perturbed : 0);
  statistics.two_by_two = counts.two_by_two;
  statistics.smallest = counts.smallest;
  context_.log.add(statistics);
}

// What is left of the slots comes together; of what they are in the panel the rest goes.
template <class T>
void Front<T>::gather_tail() {
  FrontDelays<T>* const own = delays();
  const std::int32_t slots = own->slots(), rows = contribution_rows();
  const std::int64_t order = pivots() + rows, leading = slots + rows;
  for (std::int32_t side = 0; side < storage_.sides; ++side) {
    std::vector<T>& passed = own->passed[side];
    std::vector<T>& tail = own->tail[side];
    tail.resize(leading * slots);
    for (std::int32_t s = 0; s < slots; ++s) {
      if (side == 0 && !corner_.empty())
        std::copy_n(corner_.data() + std::int64_t{s} * slots, slots,
                    tail.data() + s * leading);
      std::copy_n(passed.data() + s * order + pivots(), rows,
                  tail.data() + s * leading + slots);
      std::move(passed.data() + s * order, passed.data() + s * order + pivots(),
                passed.data() + std::int64_t{s} * pivots());
    }
    passed.resize(std::int64_t{slots} * pivots());
    passed.shrink_to_fit();
  }
  free_memory(corner_);
  own->tail_row_order.resize(slots);
  own->tail_column_order.resize(slots);
  own->tail_d.resize(2 * std::int64_t{slots});
}

template <class T>
void Front<T>::finish_pivots() {
  FrontDelays<T>* const own = delays();
  if (own == nullptr || own->slots() == 0) return;
  gather_tail();
  const std::int32_t slots = own->slots(), rows = contribution_rows();
  const std::int64_t leading = std::int64_t{slots} + rows;
  const auto ld = static_cast<std::int32_t>(leading);
  const RowSegment<T> below{own->tail[0].data() + slots, ld, rows};
  const RowSegment<T> right{own->tail[1].data() + slots, ld, rows};
  PivotBlock<T> block{slots,
                      own->tail[0].data(),
                      ld,
                      {&below, 1},
                      {},
                      own->tail_row_order.data(),
                      own->tail_column_order.data(),
                      own->tail_d.data()};
  if (kind() == FactorKind::kLu) block.right = {&right, 1};
  own->tail_eliminated = take_pivots(block, Rest::kLastResort, [&](std::int32_t left) {
    // It may have a parent for the sake of its neighbours in memory: nothing in another
    // system is a pivot for it.
    if (context_.symbolic.ends_system(front_)) return false;
    const bool paid = pay_for_parent(context_, front_, left);
    if (!paid) context_.log.add({.not_delayed = left});
    return paid;
  });
  if (kind() == FactorKind::kLdlt) own->tail_column_order = own->tail_row_order;
  context_.log.add({.delayed = own->delayed_out()});
}

#define ESPALIER_INSTANTIATE(T)                                                          \
  template void Front<T>::factor_with_pivoting(std::int32_t, const BlockColumn<T>&,      \
                                               std::int32_t);                            \
  template void Front<T>::add_rows(std::int32_t, std::int32_t, std::int32_t, PivotRows&) \
      const;                                                                             \
  template void Front<T>::add_slots(Slots&, PivotRows&) const;                           \
  template PivotBlock<T> Front<T>::pivot_block(const BlockColumn<T>&, const PivotRows&)  \
      const;                                                                             \
  template void Front<T>::close_panel(std::int32_t, const BlockColumn<T>&, std::int32_t, \
                                      const Slots&);                                     \
  template std::span<T> Front<T>::pivot_scratch(std::int32_t, std::vector<T>&) const;    \
  template std::int32_t Front<T>::continue_pivots(const PivotBlock<T>&, std::int32_t,    \
                                                  Rest);                                 \
  template bool Front<T>::may_put_off(std::int32_t, std::int32_t) const;                 \
  template bool Front<T>::pay_for_slots(std::int32_t, std::int32_t) const;               \
  template void Front<T>::log_counts(const PivotCounts&, bool);                          \
  template void Front<T>::gather_tail();                                                 \
  template void Front<T>::finish_pivots();
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
