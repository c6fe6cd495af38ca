// A node's fronts, each in the way that takes least for its size: over 300 lines.

#include "solver/front/node_run.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "solver/front/block_updates.h"
#include "solver/front/flush_subnormals.h"
#include "solver/front/tile_work.h"
#include "solver/kernels/dense.h"
#include "solver/kernels/single_pivot.h"
#include "solver/kernels/update.h"
#include "solver/tree/extend_add.h"

namespace espalier::solver {
namespace {

// Rows of a front up to which what surrounds its arithmetic counts.
constexpr std::int32_t kFewRows = 128;

template <class T>
bool eliminate(Front<T>& front) {
  const std::int32_t panels = front.panels(), blocks = front.blocks();
  for (std::int32_t k = 0; k < panels; ++k) {
    if (!front.factor(k)) return false;
    for (std::int32_t j = k + 1; j < blocks; ++j) front.update(j, k);
  }
  front.finish_pivots();
  for (std::int32_t j = panels; j < blocks; ++j) front.update(j, panels);
  return true;
}

}  // namespace

bool is_small_front(const Symbolic& symbolic, const AssemblyTree& tree,
                    std::int32_t front) {
  const std::int32_t order = symbolic.front_order(front), pivots = symbolic.pivots(front);
  const std::int32_t width = tree.block_width[front];
  return order <= kFewRows && pivots > 0 && pivots <= width && order - pivots <= width &&
         !tree.is_tiled[front];
}

template <class T>
NodeRun<T>::NodeRun(const FrontContext<T>& context, const AssemblyTree::Node& node,
                    std::int64_t panels, T* output, FrontStack<T>& stack)
    : context_(context),
      symbolic_(context.symbolic),
      tree_(context.tree),
      node_(node),
      stack_(stack),
      storage_(context.factor.storage[tree_.node_of_front[node.first_front]]),
      panel_(storage_.template as<T>() + panels),
      output_(output) {}

template <class T>
void NodeRun<T>::run() {
  const FlushSubnormals flush;
  for (std::int32_t s = node_.first_front; s <= node_.last_front; ++s) {
    if (context_.log.failed_before(symbolic_.first_column[s])) return;
    if (node_.early_last >= 0 && s == node_.early_last + 1) turn();
    if (take_alone(s) || take_leaf(s) || take_small(s)) continue;
    const bool joins = tree_.joins_previous[s];
    T* const contribution = s == node_.last_front ? output_
                            : joins               ? top_block(s)
                                                  : push(s);
    Front<T> front(context_, s, panel_, contribution);
    panel_ += tree_.panel_entries(symbolic_, s);
    const std::int64_t children = assemble(front);
    if (!(tree_.is_tiled[s] ? eliminate_tiles(front) : eliminate(front))) return;
    if (!joins) close(s, contribution, children);
  }
  context_.log.add(alone_);
}

// A front of one entry that is a good pivot, or zero: diagonal matrices and triangular
// ones in block form have no others.
// @return false: it takes the way of all fronts
template <class T>
bool NodeRun<T>::take_alone(std::int32_t s) {
  if (symbolic_.front_order(s) != 1 || symbolic_.pivots(s) != 1 ||
      tree_.first_child[s] >= 0)
    return false;
  const SymmetricMatrix& a = context_.permuted.lower;
  const std::int32_t column = symbolic_.first_column[s];
  const std::int64_t at = a.column_start[column];
  const bool stored = at < a.column_start[column + 1];
  T pivot = stored ? context_.permuted.template entry<T>(at) : T(0);
  if (pivot == T(0)) return take_zero(s);
  Factor<T>& factor = context_.factor;
  if (tree_.kind == FactorKind::kCholesky) {
    const RealOf<T> given = real_part(pivot);
    if (!(given > 0) || !std::isfinite(given) || context_.pivoting.least_part >= 1)
      return false;
    pivot = std::sqrt(given);
    alone_.smallest = std::min(alone_.smallest, 1.0);
  } else {
    const PivotOptions& pivoting = context_.pivoting;
    const double least =
        pivoting.delay_reserve == 0 ? pivoting.perturbation : pivoting.zero;
    kernels::PivotBlock<T> block{};
    block.width = block.leading = 1;
    block.diagonal = &pivot;
    block.row_order = factor.row_order.data() + column;
    if (tree_.kind == FactorKind::kLu)
      block.column_order = factor.column_order.data() + column;
    else
      block.d = factor.d.data() + 2 * std::int64_t{column};
    const auto counts =
        kernels::factor_single_pivot(tree_.kind, block, {pivoting.threshold, least});
    if (!counts) return false;
    alone_.negative += counts->negative;
    alone_.smallest = std::min(alone_.smallest, counts->smallest);
  }
  *panel_ = pivot;
  note_panel(s, tree_.sides());
  return true;
}

// A variable without entries is a zero pivot, whatever the others are, and is replaced:
// of structurally singular matrices half of all may be. @return false: of Cholesky
template <class T>
bool NodeRun<T>::take_zero(std::int32_t s) {
  if (tree_.kind == FactorKind::kCholesky) return false;
  const PivotOptions& pivoting = context_.pivoting;
  const auto given = static_cast<RealOf<T>>(pivoting.of_zero > 0 ? pivoting.of_zero
                                                                 : pivoting.perturbation);
  const T pivot = given > 0 ? given : RealOf<T>(1);
  const std::int32_t column = symbolic_.first_column[s];
  Factor<T>& factor = context_.factor;
  const bool symmetric = tree_.kind == FactorKind::kLdlt;
  factor.row_order[column] = 0;
  if (symmetric)
    factor.d[2 * std::int64_t{column}] = pivot;
  else
    factor.column_order[column] = 0;
  *panel_ = symmetric ? T(1) : pivot;
  ++alone_.null_space;
  note_panel(s, tree_.sides());
  return true;
}

// A leaf of one pivot and one block, of Cholesky, all of whose rows are entries of A:
// most leaves of trees, hubs and borders. @return false: it takes the way of all fronts
template <class T>
bool NodeRun<T>::take_leaf(std::int32_t s) {
  const std::int32_t order = symbolic_.front_order(s), below = order - 1;
  const SymmetricMatrix& a = context_.permuted.lower;
  const std::int32_t column = symbolic_.first_column[s];
  const std::int64_t at = a.column_start[column];
  if (tree_.kind != FactorKind::kCholesky || symbolic_.pivots(s) != 1 ||
      tree_.first_child[s] >= 0 || s == node_.last_front ||
      below > tree_.block_width[s] || context_.pivoting.least_part >= 1 ||
      a.column_start[column + 1] - at != order)
    return false;
  const RealOf<T> pivot = real_part(context_.permuted.template entry<T>(at));
  const RealOf<T> root = std::sqrt(pivot), inverse = 1 / root;
  if (!(pivot > 0) || !std::isfinite(pivot)) return false;
  const bool joins = tree_.joins_previous[s];
  T* const contribution = joins ? top_block(s) : push(s);
  panel_[0] = root;
  for (std::int32_t i = 1; i < order; ++i)
    panel_[i] = context_.permuted.template entry<T>(at + i) * inverse;
  kernels::update_lower(below, below, 1, panel_ + 1, order, contribution, below);
  note_panel(s, order);
  alone_.smallest = std::min(alone_.smallest, 1.0);
  if (!joins) top_ += contribution_entries(s);
  return true;
}

// is_small_front(): the operations of a Front, one after the other, without what it
// keeps for larger ones. @return false: it takes the way of all fronts
template <class T>
bool NodeRun<T>::take_small(std::int32_t s) {
  const std::int32_t order = symbolic_.front_order(s), pivots = symbolic_.pivots(s);
  const std::int32_t below = order - pivots, width = tree_.block_width[s];
  const bool definite = tree_.kind == FactorKind::kCholesky;
  if (!is_small_front(symbolic_, tree_, s) || !takes_blocks_alone(s) ||
      (!definite && context_.pivoting.delay_reserve == 0))
    return false;
  const bool joins = tree_.joins_previous[s];
  FrontStorage<T> storage{.panel_layout = {order, pivots, width},
                          .contribution_layout = {below, below, width},
                          .sides = tree_.sides()};
  storage.panel[0] = panel_;
  storage.contribution[0] = s == node_.last_front ? output_
                            : joins               ? top_block(s)
                                                  : push(s);
  if (storage.sides == 2) {
    storage.panel[1] = panel_ + storage.panel_layout.entries();
    storage.contribution[1] =
        storage.contribution[0] + storage.contribution_layout.entries();
  }
  add_original_entries(symbolic_, context_.permuted, s, 0, 0, pivots, storage);
  const std::int64_t children = add_children(s, storage);
  if (definite) {
    if (!eliminate_small(s, storage)) return true;
  } else if (!pivot_small(s, storage)) {
    clear_small(s, storage);
    return false;
  }
  note_panel(s, storage.sides * std::int64_t{order} * pivots);
  if (!joins) close(s, storage.contribution[0], children);
  return true;
}

// Whether what comes to a front are the contribution blocks of children in this node.
template <class T>
bool NodeRun<T>::takes_blocks_alone(std::int32_t s) const {
  for (std::int32_t c = tree_.first_child[s]; c >= 0; c = tree_.next_sibling[c])
    if (c < node_.first_front || context_.delayed_by(c) > 0) return false;
  return true;
}

// Of children in this node. @return entries of the stack that they took
template <class T>
std::int64_t NodeRun<T>::add_children(std::int32_t s, const FrontStorage<T>& storage) {
  const std::int64_t on_stack = entries_of_children(s);
  const T* block = stack_.entries + top_ - on_stack;
  for (std::int32_t c = tree_.first_child[s]; c >= 0; c = tree_.next_sibling[c]) {
    if (tree_.is_joined(c)) continue;
    const Trapezoid layout = tree_.contribution(symbolic_, c);
    const std::span positions(stack_.positions, symbolic_.rows_of(c).size());
    relative_indices(symbolic_, c, s, positions);
    for (std::int32_t side = 0; side < storage.sides; ++side) {
      extend_add(layout, block, 0, positions, 0, layout.rows(), storage, side);
      block += layout.entries();
    }
  }
  return on_stack;
}

// @return false: no positive pivot; the log has the column
template <class T>
bool NodeRun<T>::eliminate_small(std::int32_t s, const FrontStorage<T>& storage) {
  const std::int32_t order = storage.panel_layout.rows();
  const std::int32_t pivots = storage.panel_layout.columns(), below = order - pivots;
  const std::int32_t column = symbolic_.first_column[s];
  const std::int32_t failed = kernels::cholesky_panel(pivots, order, panel_);
  const std::int32_t good =
      clear_pivots(context_.permuted.lower, context_.pivoting.least_part, column,
                   static_cast<const T*>(panel_), order,
                   failed != 0 ? failed - 1 : pivots, alone_.smallest);
  if (good < pivots) {
    context_.log.fail(column + good);
    return false;
  }
  kernels::update_lower(below, below, pivots, panel_ + pivots, order,
                        storage.contribution[0], below);
  return true;
}

// L D L^T, L U. @return false: a column would be put off, and the panel holds anything
template <class T>
bool NodeRun<T>::pivot_small(std::int32_t s, const FrontStorage<T>& storage) {
  const BlockColumn<T> panel = block_column(storage, 0);
  const std::int32_t pivots = panel.width, below = panel.leading - pivots;
  const std::int32_t column = symbolic_.first_column[s];
  Factor<T>& factor = context_.factor;
  const kernels::RowSegment<T> lower{panel.data[0] + pivots, panel.leading, below};
  kernels::PivotBlock<T> block{.width = pivots,
                               .diagonal = panel.data[0],
                               .leading = panel.leading,
                               .below = {&lower, 1},
                               .right = {},
                               .row_order = factor.row_order.data() + column,
                               .column_order = nullptr,
                               .d = nullptr};
  kernels::RowSegment<T> upper = lower;
  if (storage.sides == 2) {
    join_diagonal(panel);
    upper.data = panel.data[1] + pivots;
    block.right = {&upper, 1};
    block.column_order = factor.column_order.data() + column;
  } else {
    block.d = factor.d.data() + 2 * std::int64_t{column};
  }
  std::vector<T> large;
  const PivotOptions& pivoting = context_.pivoting;
  const auto counts = kernels::factor_pivot_block(
      tree_.kind, block, {pivoting.threshold, pivoting.zero, false},
      context_.scratch.template at_least<T>(kernels::pivot_scratch(tree_.kind, pivots),
                                            large));
  if (counts.eliminated < pivots) return false;
  alone_.negative += counts.negative;
  alone_.two_by_two += counts.two_by_two;
  alone_.smallest = std::min(alone_.smallest, counts.smallest);
  if (below == 0) return true;
  const FactoredRows<T> rows{lower.data, upper.data, panel.leading};
  update_diagonal(tree_.kind, block_tile(storage, 1, pivots),
                  FactoredColumns<T>{rows, rows, pivots, block.d}, below,
                  context_.scratch);
  return true;
}

// As if nothing had been done with it: of the stack what is pushed is cleared then.
template <class T>
void NodeRun<T>::clear_small(std::int32_t s, const FrontStorage<T>& storage) {
  std::fill_n(panel_, storage.sides * storage.panel_layout.entries(), T{0});
  if (s == node_.last_front) std::fill_n(output_, contribution_entries(s), T{0});
}

// What the stack has no more use for goes, and the last panels come.
template <class T>
void NodeRun<T>::turn() {
  constexpr auto kEntry = static_cast<Bytes>(sizeof(T));
  stack_.memory.drain(node_.late_stack_entries * kEntry, node_.stack_entries * kEntry);
  storage_.fill(node_.early_factor_bytes, storage_.size());
}

// What a front's children in this node have of the stack.
template <class T>
std::int64_t NodeRun<T>::entries_of_children(std::int32_t s) const {
  std::int64_t entries = 0;
  for (std::int32_t c = tree_.first_child[s]; c >= 0; c = tree_.next_sibling[c])
    if (c >= node_.first_front && !tree_.is_joined(c)) entries += contribution_entries(c);
  return entries;
}

// A front's panel stands at panel_ and has so many entries.
template <class T>
void NodeRun<T>::note_panel(std::int32_t s, std::int64_t entries) {
  const PageBuffer& storage = context_.factor.storage[tree_.node_of_front[s]];
  context_.factor.offset[s] = panel_ - storage.template as<T>();
  panel_ += entries;
}

template <class T>
T* NodeRun<T>::top_block(std::int32_t s) {
  return stack_.entries + top_ - contribution_entries(s);
}

template <class T>
T* NodeRun<T>::push(std::int32_t s) {
  T* const place = stack_.entries + top_;
  const std::int64_t end = top_ + contribution_entries(s);
  std::fill(place, stack_.entries + std::clamp(stack_.written, top_, end), T{0});
  stack_.written = std::max(stack_.written, end);
  return place;
}

// @return entries of the stack that the children took
template <class T>
std::int64_t NodeRun<T>::assemble(Front<T>& front) {
  const std::int32_t s = front.front();
  const std::int32_t order = front.storage().panel_layout.rows();
  front.add_original(0, symbolic_.pivots(s));
  const std::int64_t on_stack = entries_of_children(s);
  const T* block = stack_.entries + top_ - on_stack;
  for (std::int32_t c = tree_.first_child[s]; c >= 0; c = tree_.next_sibling[c]) {
    const bool inside = c >= node_.first_front;
    const bool joined = tree_.is_joined(c);
    if (joined && !front.has_delayed()) continue;
    const T* const source = inside ? block : nullptr;
    if (inside && !joined) block += contribution_entries(c);
    const std::span positions(stack_.positions, symbolic_.rows_of(c).size());
    front.child_positions(c, positions);
    if (!joined) front.add_child(c, source, positions, 0, order);
    if (front.has_delayed()) front.add_delayed(c, positions, 0, order);
    if (!inside) context_.release_contribution(c);
  }
  return on_stack;
}

// The operations that tasks of it would make. @return false: a bad pivot
template <class T>
bool NodeRun<T>::eliminate_tiles(Front<T>& front) {
  const TileShape shape = shape_of(context_, front);
  return run_in_turn(context_, shape, front.front(), [&](const TileTask& task) {
    if (task.kind != TileTask::Kind::kAssemble) compute_tile(shape, task, front);
  });
}

// The front's contribution block takes the place of its children's.
template <class T>
void NodeRun<T>::close(std::int32_t s, T* contribution, std::int64_t children) {
  if (s == node_.last_front) return;
  const std::int64_t entries = contribution_entries(s);
  if (children > 0)
    std::memmove(contribution - children, contribution,
                 static_cast<std::size_t>(entries) * sizeof(T));
  top_ += entries - children;
}

#define ESPALIER_INSTANTIATE(T) template class NodeRun<T>;
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
