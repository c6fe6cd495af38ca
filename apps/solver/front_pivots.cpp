// The parts of a front that search pivots and carry the columns that found none.

#include <algorithm>

#include "espalier/model/error.h"
#include "solver/front.h"
#include "solver/kernels/update.h"

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

// LU: what stands opposite a diagonal block comes into its upper triangle.
template <class T>
void join_diagonal(const BlockColumn<T>& column) {
  const std::int64_t leading = column.leading;
  for (std::int32_t j = 0; j < column.width; ++j)
    for (std::int32_t i = j + 1; i < column.width; ++i)
      column.data[0][j + i * leading] = column.data[1][i + j * leading];
}

// Whether the parent of a front may take `count` more columns, for which it needs a panel
// beside the planned one: the memory for it must be left.
template <class T>
bool pay_for_parent(const FrontContext<T>& context, std::int32_t front,
                    std::int32_t count) {
  const std::int32_t parent = context.symbolic.parent[front];
  if (parent < 0) return false;
  const Trapezoid plan = context.tree.panel(context.symbolic, parent);
  return context.reserve.pay(parent, count, 0, [&](std::int32_t more) -> Bytes {
    if (more == 0) return 0;
    const Trapezoid panel(plan.rows() + more, plan.columns() + more,
                          context.tree.block_width[parent]);
    return static_cast<Bytes>(sizeof(T)) *
           (context.tree.sides() * panel.entries() + 6 * std::int64_t{panel.columns()});
  });
}

}  // namespace

/// The slots of a front as rows of the block that is being factored.
template <class T>
struct Front<T>::Slots {
  std::int32_t count = 0;
  std::array<std::vector<T>, 2> rows;  // count x width: of L; LU: of U transposed

  [[nodiscard]] const std::vector<T>& right() const {
    return rows[1].empty() ? rows[0] : rows[1];
  }
};

template <class T>
void Front<T>::open_delays() {
  const Symbolic& symbolic = context_.symbolic;
  auto& own = context_.factor.front[front_].delays;
  own = std::make_unique<FrontDelays<T>>();
  own->delayed_in = delayed_in_;
  const AssemblyTree& tree = context_.tree;
  for (auto c = tree.first_child[front_]; c >= 0; c = tree.next_sibling[c]) {
    const FrontDelays<T>* const child = context_.factor.front[c].delays.get();
    if (child == nullptr) continue;
    for (std::int32_t k = child->tail_eliminated; k < child->slots(); ++k) {
      own->rows_in.push_back(child->row_id(symbolic, c, k));
      own->columns_in.push_back(child->column_id(symbolic, c, k));
    }
  }
  const std::int32_t columns = symbolic.pivots(front_) + delayed_in_;
  const Trapezoid layout = context_.factor.panel(symbolic, tree, front_);
  own->row_order.resize(columns);
  if (kind() == FactorKind::kLu) own->column_order.resize(columns);
  if (kind() == FactorKind::kLdlt) own->d.resize(2 * std::int64_t{columns});
  for (std::int32_t k = 0; k < layout.blocks(); ++k)
    own->eliminated.push_back(layout.width(k));
}

template <class T>
void Front<T>::add_delayed(std::int32_t child, std::span<const std::int32_t> positions,
                           std::int32_t begin, std::int32_t end) {
  const FrontDelays<T>* const from = context_.factor.front[child].delays.get();
  if (from == nullptr) return;
  std::int32_t place = context_.symbolic.pivots(front_);
  for (auto c = context_.tree.first_child[front_]; c != child;
       c = context_.tree.next_sibling[c])
    place += context_.factor.delayed_out(c);
  const std::int32_t slots = from->slots(), first = from->tail_eliminated;
  const std::int64_t leading = slots + static_cast<std::int64_t>(positions.size());
  for (std::int32_t j = first; j < slots; ++j) {
    const std::int32_t column = place + j - first;
    const T* const lower = from->tail[0].data() + j * leading;
    const std::int32_t top = kind() == FactorKind::kLu ? first : j;
    for (std::int32_t i = top; i < slots; ++i)
      add_entry(place + i - first, column, lower[i], begin, end);
    for (std::size_t i = 0; i < positions.size(); ++i)
      add_entry(positions[i], column, lower[slots + i], begin, end);
    if (kind() != FactorKind::kLu) continue;
    const T* const upper = from->tail[1].data() + j * leading;
    for (std::size_t i = 0; i < positions.size(); ++i)
      add_entry(column, positions[i], upper[slots + i], begin, end);
  }
}

// Adds the entry (i, j) of the front if it is stored in the columns [begin, end).
template <class T>
void Front<T>::add_entry(std::int32_t i, std::int32_t j, T value, std::int32_t begin,
                         std::int32_t end) {
  const std::int32_t side = i < j && storage_.sides == 2 ? 1 : 0;
  if (i < j) std::swap(i, j);
  if (j >= begin && j < end) storage_.column(side, j)[i] += value;
}

template <class T>
void Front<T>::factor_with_pivoting(std::int32_t block, const BlockColumn<T>& column) {
  if (storage_.sides == 2) join_diagonal(column);
  Slots slots = slots_beside(column);
  const std::int32_t below = column.leading - column.width;
  const auto segments = [&](std::int32_t side) {
    return std::array<RowSegment<T>, 2>{
        {{column.data[side] + column.width, column.leading, below},
         {slots.rows[side].data(), std::max(slots.count, 1), slots.count}}};
  };
  const auto lower = segments(0), upper = segments(storage_.sides - 1);
  PivotBlock<T> pivots{.width = column.width,
                       .diagonal = column.data[0],
                       .leading = column.leading,
                       .below = lower,
                       .right = {},
                       .row_order = row_order_ + column.first,
                       .column_order = nullptr,
                       .d = nullptr};
  if (kind() == FactorKind::kLdlt) pivots.d = d_ + 2 * std::int64_t{column.first};
  if (kind() == FactorKind::kLu) {
    pivots.right = upper;
    pivots.column_order = column_order_ + column.first;
  }
  const std::int32_t eliminated = take_pivots(
      pivots, [&](std::int32_t left) { return pay_for_slots(slots.count, left); });
  if (slots.count > 0) pass_on(column, eliminated, slots);
  if (eliminated < column.width) leave_slots(column, eliminated, slots);
  if (delays() != nullptr) delays()->eliminated[block] = eliminated;
}

template <class T>
auto Front<T>::slots_beside(const BlockColumn<T>& column) const -> Slots {
  Slots slots;
  const FrontDelays<T>* const own = delays();
  if (own == nullptr || own->slots() == 0) return slots;
  slots.count = own->slots();
  const std::int64_t order = pivots() + contribution_rows();
  for (std::int32_t side = 0; side < storage_.sides; ++side) {
    // passed[1] holds rows of the slots, which are rows of L (LU).
    std::vector<T>& rows = slots.rows[storage_.sides - 1 - side];
    rows.resize(std::int64_t{slots.count} * column.width);
    for (std::int32_t s = 0; s < slots.count; ++s)
      for (std::int32_t k = 0; k < column.width; ++k)
        rows[s + std::int64_t{k} * slots.count] =
            own->passed[side][s * order + column.first + k];
  }
  return slots;
}

// Eliminates what passes the threshold, and all of it where nothing may be delayed.
// @return columns eliminated
template <class T>
template <class MayLeave>
std::int32_t Front<T>::take_pivots(const PivotBlock<T>& block, MayLeave may_leave) {
  const PivotOptions& options = context_.pivoting;
  std::vector<T> large;
  std::span<T> scratch = context_.scratch.template as<T>();
  const std::int64_t needed = kernels::pivot_scratch(kind(), block.width);
  if (static_cast<std::int64_t>(scratch.size()) < needed) {
    large.resize(needed);
    scratch = large;
  }
  if (options.delay_reserve == 0) {
    take_all(block, false, scratch);
    return block.width;
  }
  const PivotCounts counts = kernels::factor_pivot_block(
      kind(), block, {options.threshold, options.zero, false}, scratch);
  log_counts(counts, false);
  const std::int32_t left = block.width - counts.eliminated;
  if (left == 0 || may_leave(left)) return counts.eliminated;
  take_rest(block, counts.eliminated, scratch);
  return block.width;
}

// Whether `count` more columns may go on as slots: the memory for it must be left.
template <class T>
bool Front<T>::pay_for_slots(std::int32_t slots, std::int32_t count) {
  const std::int64_t order = pivots() + contribution_rows(), after = slots + count;
  const Bytes own = static_cast<Bytes>(sizeof(T)) * storage_.sides *
                    (2 * count * order + 2 * after * after);
  return context_.reserve.pay(-1, count, own, {});
}

template <class T>
void Front<T>::take_all(const PivotBlock<T>& block, bool last_resort,
                        std::span<T> scratch) {
  const PivotOptions& options = context_.pivoting;
  const PivotCounts counts = kernels::factor_pivot_block(
      kind(), block, {options.threshold, options.perturbation, true}, scratch);
  if (counts.eliminated < block.width)
    throw Error("entries of the factor are too large for the precision");
  log_counts(counts, last_resort);
}

// Static pivoting of the columns after the first `eliminated` ones of a block.
template <class T>
void Front<T>::take_rest(const PivotBlock<T>& block, std::int32_t eliminated,
                         std::span<T> scratch) {
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
  take_all(rest, true, scratch);
  permute(block.row_order + e, rows, 1);
  for (std::int32_t k = 0; k < e; ++k)
    permute(block.diagonal + e + std::int64_t{k} * block.leading, rows, 1);
  if (kind() != FactorKind::kLu) return;
  permute(block.column_order + e, columns, 1);
  for (std::int32_t k = 0; k < e; ++k)
    permute(block.diagonal + k + std::int64_t{e} * block.leading, columns, block.leading);
}

template <class T>
void Front<T>::log_counts(const PivotCounts& counts, bool last_resort) {
  const bool root = context_.symbolic.parent[front_] < 0;
  PivotStatistics statistics;
  (root && last_resort ? statistics.null_space : statistics.perturbed) = counts.perturbed;
  statistics.negative = counts.negative;
  statistics.two_by_two = counts.two_by_two;
  context_.log.add(statistics);
}

// The columns eliminated in a block, applied to the slots that left earlier ones.
template <class T>
void Front<T>::pass_on(const BlockColumn<T>& column, std::int32_t eliminated,
                       const Slots& slots) {
  FrontDelays<T>& own = *delays();
  const std::int64_t order = pivots() + contribution_rows();
  const std::int32_t end = column.first + column.width, count = slots.count;
  std::vector<T> scaled;  // rows of L, times D
  if (kind() == FactorKind::kLdlt) {
    scaled.resize(std::int64_t{count} * eliminated);
    kernels::multiply_by_d(count, eliminated, slots.rows[0].data(), count,
                           d_ + 2 * std::int64_t{column.first}, scaled.data(), count);
  }
  const T* const left = slots.rows[0].data();
  const T* const right =
      kind() == FactorKind::kLdlt ? scaled.data() : slots.rows[1].data();
  for (std::int32_t side = 0; side < storage_.sides; ++side) {
    std::vector<T>& passed = own.passed[side];
    const std::vector<T>& rows = slots.rows[storage_.sides - 1 - side];
    for (std::int32_t s = 0; s < count; ++s)
      for (std::int32_t k = 0; k < column.width; ++k)
        passed[s * order + column.first + k] = rows[s + std::int64_t{k} * count];
    kernels::update_general(static_cast<std::int32_t>(order) - end, count, eliminated,
                            column.data[side] + column.width, column.leading,
                            side == 0 ? right : left, count, passed.data() + end,
                            static_cast<std::int32_t>(order));
  }
  kernels::update_general(count, count, eliminated, left, count, right, count,
                          corner_.data(), count);
}

// The columns of a block that were not eliminated become slots.
template <class T>
void Front<T>::leave_slots(const BlockColumn<T>& column, std::int32_t eliminated,
                           const Slots& before) {
  auto& own = context_.factor.front[front_].delays;
  if (own == nullptr) {
    own = std::make_unique<FrontDelays<T>>();
    for (std::int32_t k = 0; k < panels(); ++k)
      own->eliminated.push_back(storage_.panel_layout.width(k));
  }
  const std::int32_t old = before.count, more = column.width - eliminated;
  const std::int64_t after = old + more, order = pivots() + contribution_rows();
  std::vector<T> corner(after * after);
  for (std::int32_t j = 0; j < old; ++j)
    std::copy_n(corner_.data() + std::int64_t{j} * old, old, corner.data() + j * after);
  for (std::int32_t t = 0; t < more; ++t) {
    const std::int64_t k = eliminated + t;
    for (std::int32_t s = 0; s < old; ++s) {
      corner[s + (old + t) * after] = before.rows[0][s + k * old];
      corner[old + t + s * after] = before.right()[s + k * old];
    }
    for (std::int32_t u = 0; u < more; ++u) {
      const std::int64_t l = eliminated + u;
      const bool stored = storage_.sides == 2 || l >= k;
      corner[old + u + (old + t) * after] =
          column.data[0][stored ? l + k * column.leading : k + l * column.leading];
    }
  }
  corner_ = std::move(corner);
  for (std::int32_t side = 0; side < storage_.sides; ++side) {
    own->passed[side].resize(order * after);
    for (std::int32_t t = 0; t < more; ++t) {
      const T* const source =
          column.data[side] + (eliminated + t) * std::int64_t{column.leading};
      std::copy(
          source + column.width, source + column.leading,
          own->passed[side].data() + (old + t) * order + column.first + column.width);
    }
  }
  for (std::int32_t k = eliminated; k < column.width; ++k) {
    own->slot_row.push_back(column.first + row_order_[column.first + k]);
    own->slot_column.push_back(column.first + (kind() == FactorKind::kLu
                                                   ? column_order_
                                                   : row_order_)[column.first + k]);
  }
}

template <class T>
void Front<T>::finish_pivots() {
  FrontDelays<T>* const own = delays();
  if (own == nullptr || own->slots() == 0) return;
  const std::int32_t slots = own->slots(), rows = contribution_rows();
  const std::int64_t order = pivots() + rows, leading = slots + rows;
  for (std::int32_t side = 0; side < storage_.sides; ++side) {
    std::vector<T>& passed = own->passed[side];
    std::vector<T>& tail = own->tail[side];
    tail.resize(leading * slots);
    for (std::int32_t s = 0; s < slots; ++s) {
      if (side == 0)
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
  corner_ = {};
  own->tail_row_order.resize(slots);
  own->tail_column_order.resize(slots);
  own->tail_d.resize(2 * std::int64_t{slots});
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
  own->tail_eliminated = take_pivots(
      block, [&](std::int32_t left) { return pay_for_parent(context_, front_, left); });
  if (kind() == FactorKind::kLdlt) own->tail_column_order = own->tail_row_order;
  context_.log.add({.delayed = own->delayed_out()});
}

template void Front<float>::open_delays();
template void Front<float>::add_delayed(std::int32_t, std::span<const std::int32_t>,
                                        std::int32_t, std::int32_t);
template void Front<float>::factor_with_pivoting(std::int32_t, const BlockColumn<float>&);
template void Front<float>::finish_pivots();
template void Front<double>::open_delays();
template void Front<double>::add_delayed(std::int32_t, std::span<const std::int32_t>,
                                         std::int32_t, std::int32_t);
template void Front<double>::factor_with_pivoting(std::int32_t,
                                                  const BlockColumn<double>&);
template void Front<double>::finish_pivots();

}  // namespace espalier::solver
