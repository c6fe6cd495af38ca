#include "solver/front/front.h"

#include <algorithm>

#include "espalier/model/error.h"
#include "solver/front/block_updates.h"
#include "solver/tree/extend_add.h"

namespace espalier::solver {
namespace {

template <class T>
std::int32_t delayed_by_children(const FrontContext<T>& context, std::int32_t front) {
  const AssemblyTree& tree = context.tree;
  std::int32_t count = 0;
  for (auto c = tree.first_child[front]; c >= 0; c = tree.next_sibling[c])
    count += context.delayed_by(c);
  return count;
}

}  // namespace

template <class T>
Front<T>::Front(const FrontContext<T>& context, std::int32_t front, T* panel,
                T* contribution, FrontShare<T> share)
    : context_(context), front_(front), share_(std::move(share)) {
  const Symbolic& symbolic = context.symbolic;
  Factor<T>& factor = context.factor;
  delayed_in_ = delayed_by_children(context, front);
  if (delayed_in_ > 0) open_delays(panel);
  storage_.panel_layout = factor.panel(symbolic, context.tree, front);
  storage_.contribution_layout = context.tree.contribution(symbolic, front);
  storage_.sides = context.tree.sides();
  if (share_.strips.size() > 2) storage_.strips = share_.strips;
  for (std::int32_t k = 0; kind() != FactorKind::kCholesky && k < panels(); ++k)
    eliminated_.push_back(storage_.panel_layout.width(k));

  FrontDelays<T>* const own = delays();
  if (own != nullptr) {
    panel = own->panel.template as<T>();
  }
  for (std::int32_t side = 0; side < storage_.sides; ++side) {
    storage_.panel[side] = panel + side * storage_.panel_layout.entries();
    storage_.contribution[side] =
        contribution + side * storage_.contribution_layout.entries();
  }
  if (own == nullptr)
    factor.offset[front] =
        panel - factor.storage[context.tree.node_of_front[front]].template as<T>();
  open_low_rank();
  if (kind() == FactorKind::kCholesky) return;
  if (context.tree.nodes[context.tree.node_of_front[front]].shared &&
      (context.pivoting.delay_reserve > 0 || strips() > 1))
    open_exchange();
  const std::int32_t first = symbolic.first_column[front];
  row_order_ = own != nullptr ? own->row_order.data() : factor.row_order.data() + first;
  if (kind() == FactorKind::kLdlt)
    d_ = own != nullptr ? own->d.data() : factor.d.data() + 2 * std::int64_t{first};
  else
    column_order_ =
        own != nullptr ? own->column_order.data() : factor.column_order.data() + first;
}

template <class T>
void Front<T>::child_positions(std::int32_t child,
                               std::span<std::int32_t> positions) const {
  relative_indices(context_.symbolic, child, front_, positions);
  if (delayed_in_ == 0) return;
  const std::int32_t own = context_.symbolic.pivots(front_);
  for (std::int32_t& position : positions)
    if (position >= own) position += delayed_in_;
}

template <class T>
void Front<T>::add_original(std::int32_t begin, std::int32_t end) {
  end = std::min(end, context_.symbolic.pivots(front_));
  if (begin >= end) return;
  if (share_.original != nullptr) return add_originals(begin, end);
  add_original_entries(context_.symbolic, context_.permuted, front_, delayed_in_, begin,
                       end, storage_);
}

template <class T>
void Front<T>::add_child(std::int32_t child, const T* contribution,
                         std::span<const std::int32_t> positions, std::int32_t begin,
                         std::int32_t end) {
  const std::int32_t first = begin == 0 ? 0 : rows_before(positions, begin);
  const std::int32_t last = end == order() ? static_cast<std::int32_t>(positions.size())
                                           : rows_before(positions, end);
  const AssemblyTree& tree = context_.tree;
  const Trapezoid layout = tree.contribution(context_.symbolic, child);
  const Bytes at = tree.nodes[tree.node_of_front[child]].contribution_at;
  const LowRankPanel* const panel = context_.factor.low_rank_of(child);
  if (contribution == nullptr && panel != nullptr && panel->contribution != nullptr)
    return add_tiles(*panel->contribution, positions, first, last);
  for (std::int32_t side = 0; side < storage_.sides; ++side) {
    const std::int64_t before = side * layout.entries();
    if (contribution == nullptr && at >= 0) {
      add_from_file(at + before * static_cast<Bytes>(sizeof(T)), layout, side, positions,
                    first, last);
      continue;
    }
    const T* const source =
        contribution != nullptr ? contribution : context_.contribution_of(child);
    add_columns(child, side, source + before, positions, first, last);
  }
}

template <class T>
void Front<T>::add_columns(std::int32_t child, std::int32_t side, const T* source,
                           std::span<const std::int32_t> positions, std::int32_t first,
                           std::int32_t last) {
  extend_add(context_.tree.contribution(context_.symbolic, child), source, 0, positions,
             first, last, storage_, side);
}

// Adds columns of a contribution block that is in the file, as many at a time as fit in
// the worker's scratch.
template <class T>
void Front<T>::add_from_file(Bytes at, const Trapezoid& layout, std::int32_t side,
                             std::span<const std::int32_t> positions, std::int32_t begin,
                             std::int32_t end) {
  const std::span<T> scratch = context_.scratch.template as<T>();
  while (begin < end) {
    const std::int32_t block = layout.block_of(begin);
    const std::int64_t leading = layout.leading(block);
    const auto fit = static_cast<std::int64_t>(scratch.size()) / leading;
    const std::int32_t last = layout.first(block) + layout.width(block);
    const auto stop =
        static_cast<std::int32_t>(std::min<std::int64_t>({begin + fit, end, last}));
    const std::int64_t origin =
        layout.offset(block) + (begin - layout.first(block)) * leading;
    const std::span<T> part =
        scratch.first(static_cast<std::size_t>((stop - begin) * leading));
    context_.file->read(at + origin * static_cast<Bytes>(sizeof(T)),
                        std::as_writable_bytes(part));
    extend_add(layout, part.data(), origin, positions, begin, stop, storage_, side);
    begin = stop;
  }
}

template <class T>
std::int32_t clear_pivots(const SymmetricMatrix& a, double least, std::int32_t column,
                          const T* diagonal, std::int32_t leading, std::int32_t factored,
                          double& smallest) {
  for (std::int32_t k = 0; k < factored; ++k) {
    const double root = real_part(diagonal[k * (std::int64_t{leading} + 1)]);
    const std::int64_t given = a.column_start[column + k];
    const bool stored =
        given < a.column_start[column + k + 1] && a.row[given] == column + k;
    const double part = stored ? root * root / a.value[given] : 1;
    if (part <= least) return k;
    smallest = std::min(smallest, part);
  }
  return factored;
}

template <class T>
bool Front<T>::factor(std::int32_t block, std::int32_t end) {
  const BlockColumn<T> column = block_column(storage_, block);
  if (kind() != FactorKind::kCholesky) {
    factor_with_pivoting(block, column, end);
    return true;
  }
  const kernels::RowSegment<T> below{column.data[0] + column.width, column.leading,
                                     end - column.first - column.width};
  kernels::PivotBlock<T> pivots{};
  pivots.width = column.width;
  pivots.diagonal = column.data[0];
  pivots.leading = column.leading;
  pivots.below = {&below, 1};
  const auto counts =
      kernels::factor_pivot_block(FactorKind::kCholesky, pivots, kernels::PivotRule{},
                                  context_.scratch.template as<T>());
  const std::int32_t first = context_.symbolic.first_column[front_] + column.first;
  PivotStatistics statistics;
  const std::int32_t good = clear_pivots(
      context_.permuted.lower, context_.pivoting.least_part, first, column.data[0],
      column.leading, counts.eliminated, statistics.smallest);
  context_.log.add(statistics);
  if (good == column.width) return true;
  context_.log.fail(first + good);
  return false;
}

// What was eliminated is known here by block: the delays may come into being while
// earlier blocks still update others.
template <class T>
void Front<T>::update(std::int32_t target, std::int32_t source, std::int32_t begin,
                      std::int32_t end) {
  const std::int32_t first = first_row(target);
  const BlockTile<T> to = block_tile(storage_, target, begin);
  FactoredColumns<T> by{};
  if (source < panels()) {
    const BlockTile<T> left = block_tile(storage_, source, begin),
                       right = block_tile(storage_, source, first);
    by = {.left = {left.row(0, begin), left.row(1, begin), left.leading()},
          .right = {right.row(0, first), right.row(1, first), right.leading()},
          .count = eliminated_.empty() ? left.width : eliminated_[source],
          .d = d_ + 2 * std::int64_t{storage_.panel_layout.first(source)}};
  } else {
    const FrontDelays<T>* const own = delays();
    if (own == nullptr || own->tail_eliminated == 0) return;
    const std::int32_t leading = own->slots() + contribution_rows();
    const auto from = [&](std::int32_t row) -> FactoredRows<T> {
      const std::int32_t down = own->slots() + row - pivots();
      return {own->tail[0].data() + down, own->tail[1].data() + down, leading};
    };
    by = {from(begin), from(first), own->tail_eliminated, own->tail_d.data()};
  }
  if (begin == first)
    update_diagonal(kind(), to, by, end - begin, context_.scratch);
  else
    update_rows(kind(), to, begin, end - begin, by, context_.scratch);
}

#define ESPALIER_INSTANTIATE(T)                                                    \
  template class Front<T>;                                                         \
  template std::int32_t clear_pivots(const SymmetricMatrix&, double, std::int32_t, \
                                     const T*, std::int32_t, std::int32_t, double&);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
