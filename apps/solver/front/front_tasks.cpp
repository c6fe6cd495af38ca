// Everything that happens to a front as one task, in the order in which it does: over
// 300 lines.

#include "solver/front/front_tasks.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "espalier/model/error.h"
#include "solver/front/block_assembly.h"
#include "solver/front/block_updates.h"
#include "solver/front/flush_subnormals.h"
#include "solver/kernels/dense.h"
#include "solver/kernels/single_pivot.h"
#include "solver/kernels/update.h"
#include "solver/tree/extend_add.h"

namespace espalier::solver {
namespace {

// What is read at a time of a contribution block in the file, at least.
constexpr std::int64_t kReadEntries = std::int64_t{1} << 16;
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

// What a task of a front that is not compressed computes, once it is assembled.
// @return false: no positive pivot (Cholesky)
template <class T>
bool compute_tile(const TileShape& shape, const TileTask& task, Front<T>& front) {
  using Kind = TileTask::Kind;
  const auto first_of = [&](std::int32_t block) {
    return block < shape.blocks ? block_column(front.storage(), block).first
                                : front.order();
  };
  const std::int32_t end = first_of(shape.first_block(task.row + 1));
  switch (task.kind) {
    case Kind::kFactor:
      return front.factor(task.column, end);
    case Kind::kSolve:
      front.solve(task.column, first_of(shape.first_block(task.row)), end);
      break;
    case Kind::kAccept:
      front.accept(task.column);
      break;
    case Kind::kUpdate:
      front.update(task.column, task.source,
                   first_of(std::max(shape.first_block(task.row), task.column)), end);
      break;
    case Kind::kFinish:
      front.finish_pivots();
      break;
    case Kind::kAssemble:
    case Kind::kAdd:
    case Kind::kTake:
    case Kind::kPutBack:
      ESPALIER_ASSERT(false, "whoever has the tiles of the front does these");
  }
  return true;
}

// The same of a compressed front. @return whether nothing is left to do in its column
template <class T>
bool compute_compressed(const TileShape& shape, const TileTask& task, Front<T>& front) {
  using Kind = TileTask::Kind;
  if (task.kind == Kind::kAccept) return true;
  if (task.kind == Kind::kUpdate)
    return front.update_by_tiles(task.column, task.row, task.source,
                                 shape.sources_end(task.column, task.source));
  const bool good = compute_tile(shape, task, front);
  // Of a last block column that is all of a front's rows nothing is accepted.
  return task.kind == Kind::kFactor && good && !shape.accepts(task.column);
}

// All tasks of a front, in an order of their own. @return false: a bad pivot
template <class T, class Run>
bool run_in_turn(const FrontContext<T>& context, const TileShape& shape, const Run& run) {
  TileGraph graph(shape);
  std::vector<TileTask> ready;
  graph.start(ready);
  for (std::size_t next = 0; next < ready.size() && !context.log.failed(); ++next) {
    const TileTask task = ready[next];
    run(task);
    graph.end(task, ready);
  }
  return !context.log.failed();
}

// The fronts of one node in turn, with the stack of contribution blocks inside it.
template <class T>
class NodeRun {
 public:
  NodeRun(const FrontContext<T>& context, std::int32_t node)
      : context_(context),
        symbolic_(context.symbolic),
        tree_(context.tree),
        node_(context.tree.nodes[node]),
        scratch_(node_.stack_entries * static_cast<Bytes>(sizeof(T)) +
                     node_.index_entries * static_cast<Bytes>(sizeof(std::int32_t)),
                 context.meter, context.pool),
        positions_(reinterpret_cast<std::int32_t*>(scratch_.template as<T>() +
                                                   node_.stack_entries)),
        storage_(context.factor.storage[node]),
        panel_(storage_.template as<T>()),
        output_(context.contributions[node].template as<T>()),
        written_(context.pool != nullptr ? node_.stack_entries : 0) {}

  void run() {
    const FlushSubnormals flush;
    for (std::int32_t s = node_.first_front; s <= node_.last_front; ++s) {
      if (context_.log.failed()) return;
      if (node_.early_last >= 0 && s == node_.early_last + 1) turn();
      if (take_alone(s) || take_leaf(s) || take_small(s)) continue;
      const bool joins = tree_.joins_previous[s];
      T* const contribution = s == node_.last_front ? output_
                              : joins               ? top_block(s)
                                                    : push(s);
      Front<T> front(context_, s, panel_, contribution);
      panel_ += tree_.sides() * tree_.panel(symbolic_, s).entries();
      const std::int64_t children = assemble(front);
      if (!(tree_.is_tiled[s] ? eliminate_tiles(front) : eliminate(front))) return;
      if (!joins) close(s, contribution, children);
    }
    context_.log.add(alone_);
  }

 private:
  // A front of one entry that is a good pivot: diagonal matrices and triangular ones in
  // block form have no others. @return false: it takes the way of all fronts
  bool take_alone(std::int32_t s) {
    if (symbolic_.front_order(s) != 1 || symbolic_.pivots(s) != 1 ||
        tree_.first_child[s] >= 0)
      return false;
    const SymmetricMatrix& a = context_.permuted.lower;
    const std::int32_t column = symbolic_.first_column[s];
    const std::int64_t at = a.column_start[column];
    if (at == a.column_start[column + 1]) return false;
    Factor<T>& factor = context_.factor;
    T pivot = context_.permuted.template entry<T>(at);
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

  [[nodiscard]] std::int64_t contribution_entries(std::int32_t front) const {
    return tree_.sides() * tree_.contribution(symbolic_, front).entries();
  }

  // A leaf of one pivot and one block, of Cholesky, all of whose rows are entries of A:
  // most leaves of trees, hubs and borders. @return false: it takes the way of all fronts
  bool take_leaf(std::int32_t s) {
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
  bool take_small(std::int32_t s) {
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
  [[nodiscard]] bool takes_blocks_alone(std::int32_t s) const {
    for (std::int32_t c = tree_.first_child[s]; c >= 0; c = tree_.next_sibling[c])
      if (c < node_.first_front || context_.delayed_by(c) > 0) return false;
    return true;
  }

  // Of children in this node. @return entries of the stack that they took
  std::int64_t add_children(std::int32_t s, const FrontStorage<T>& storage) {
    const std::int64_t on_stack = entries_of_children(s);
    const T* block = scratch_.template as<T>() + top_ - on_stack;
    for (std::int32_t c = tree_.first_child[s]; c >= 0; c = tree_.next_sibling[c]) {
      if (tree_.is_joined(c)) continue;
      const Trapezoid layout = tree_.contribution(symbolic_, c);
      const std::span positions(positions_, symbolic_.rows_of(c).size());
      relative_indices(symbolic_, c, s, positions);
      for (std::int32_t side = 0; side < storage.sides; ++side) {
        extend_add(layout, block, 0, positions, 0, layout.rows(), storage, side);
        block += layout.entries();
      }
    }
    return on_stack;
  }

  // @return false: no positive pivot; the log has the column
  bool eliminate_small(std::int32_t s, const FrontStorage<T>& storage) {
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
  bool pivot_small(std::int32_t s, const FrontStorage<T>& storage) {
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
  void clear_small(std::int32_t s, const FrontStorage<T>& storage) {
    std::fill_n(panel_, storage.sides * storage.panel_layout.entries(), T{0});
    if (s == node_.last_front) std::fill_n(output_, contribution_entries(s), T{0});
  }

  // What the stack has no more use for goes, and the last panels come.
  void turn() {
    constexpr auto kEntry = static_cast<Bytes>(sizeof(T));
    scratch_.drain(node_.late_stack_entries * kEntry, node_.stack_entries * kEntry);
    storage_.fill(node_.early_factor_bytes, storage_.size());
  }

  // What a front's children in this node have of the stack.
  [[nodiscard]] std::int64_t entries_of_children(std::int32_t s) const {
    std::int64_t entries = 0;
    for (std::int32_t c = tree_.first_child[s]; c >= 0; c = tree_.next_sibling[c])
      if (c >= node_.first_front && !tree_.is_joined(c))
        entries += contribution_entries(c);
    return entries;
  }

  // A front's panel stands at panel_ and has so many entries.
  void note_panel(std::int32_t s, std::int64_t entries) {
    const PageBuffer& storage = context_.factor.storage[tree_.node_of_front[s]];
    context_.factor.offset[s] = panel_ - storage.template as<T>();
    panel_ += entries;
  }

  T* top_block(std::int32_t s) {
    return scratch_.template as<T>() + top_ - contribution_entries(s);
  }

  T* push(std::int32_t s) {
    T* const place = scratch_.template as<T>() + top_;
    const std::int64_t end = top_ + contribution_entries(s);
    std::fill(place, scratch_.template as<T>() + std::clamp(written_, top_, end), T{0});
    written_ = std::max(written_, end);
    return place;
  }

  // @return entries of the stack that the children took
  std::int64_t assemble(Front<T>& front) {
    const std::int32_t s = front.front();
    const std::int32_t order = front.storage().panel_layout.rows();
    front.add_original(0, symbolic_.pivots(s));
    const std::int64_t on_stack = entries_of_children(s);
    const T* block = scratch_.template as<T>() + top_ - on_stack;
    for (std::int32_t c = tree_.first_child[s]; c >= 0; c = tree_.next_sibling[c]) {
      const bool inside = c >= node_.first_front;
      const bool joined = tree_.is_joined(c);
      if (joined && !front.has_delayed()) continue;
      const T* const source = inside ? block : nullptr;
      if (inside && !joined) block += contribution_entries(c);
      const std::span positions(positions_, symbolic_.rows_of(c).size());
      front.child_positions(c, positions);
      if (!joined) front.add_child(c, source, positions, 0, order);
      if (front.has_delayed()) front.add_delayed(c, positions, 0, order);
      if (!inside) context_.release_contribution(c);
    }
    return on_stack;
  }

  // The operations that tasks of it would make. @return false: a bad pivot
  bool eliminate_tiles(Front<T>& front) {
    const TileShape shape = shape_of(context_, front);
    return run_in_turn(context_, shape, [&](const TileTask& task) {
      if (task.kind != TileTask::Kind::kAssemble) compute_tile(shape, task, front);
    });
  }

  // The front's contribution block takes the place of its children's.
  void close(std::int32_t s, T* contribution, std::int64_t children) {
    if (s == node_.last_front) return;
    const std::int64_t entries = contribution_entries(s);
    if (children > 0)
      std::memmove(contribution - children, contribution,
                   static_cast<std::size_t>(entries) * sizeof(T));
    top_ += entries - children;
  }

  const FrontContext<T>& context_;
  const Symbolic& symbolic_;
  const AssemblyTree& tree_;
  const AssemblyTree::Node& node_;
  PageBuffer scratch_;
  std::int32_t* positions_;
  PageBuffer& storage_;
  T* panel_;
  T* output_;
  std::int64_t top_ = 0;      // entries on the stack
  std::int64_t written_ = 0;  // of it so far: fresh pages are zero beyond
  PivotStatistics alone_;     // of take_alone(), take_leaf() and take_small()
};

// The same operations as on many workers, in an order of their own.
template <class T>
void run_tiled_front(const FrontContext<T>& context, std::int32_t node) {
  Front<T> front(context, context.tree.nodes[node].last_front,
                 context.factor.storage[node].template as<T>(),
                 context.contributions[node].template as<T>());
  const TileShape shape = shape_of(context, front);
  BlockAssembly<T> assembly(context, front, shape.slices);
  run_in_turn(context, shape,
              [&](const TileTask& task) { run_tile(shape, task, front, assembly); });
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
void allocate_node(const FrontContext<T>& context, std::int32_t node) {
  const AssemblyTree::Node& sizes = context.tree.nodes[node];
  const auto content =  // BlockAssembly clears what it assembles
      sizes.tiled ? PageBuffer::Content::kAny : PageBuffer::Content::kZeros;
  const auto allocate = [&](Bytes bytes, bool later) {
    return later ? PageBuffer::reserve(bytes, context.meter, context.pool)
                 : PageBuffer(bytes, context.meter, context.pool, content);
  };
  const bool in_turn = sizes.early_last >= 0, reserved = sizes.by_blocks || in_turn;
  PageBuffer& panels = context.factor.storage[node];
  PageBuffer former;
  if (!context.former.empty()) former = std::move(context.former[node]);
  if (former.same_as(sizes.factor_bytes, reserved)) {
    panels = PageBuffer::renew(std::move(former), context.meter, content);
  } else {
    former.release();
    panels = allocate(sizes.factor_bytes, reserved);
  }
  if (in_turn) panels.fill(0, sizes.early_factor_bytes);
  context.contributions[node] = allocate(sizes.contribution_bytes, sizes.by_blocks);
}

template <class T>
void run_sequential_node(const FrontContext<T>& context, std::int32_t node) {
  allocate_node(context, node);
  if (context.tree.nodes[node].tiled)
    run_tiled_front(context, node);
  else
    NodeRun<T>(context, node).run();
}

template <class T>
TileShape shape_of(const FrontContext<T>& context, const Front<T>& front) {
  const std::int32_t planned =
      context.tree.panel(context.symbolic, front.front()).blocks();
  return tile_shape(context.tree, front.front(), front.panels(), front.blocks(),
                    context.pivoting.delay_reserve > 0, front.panels() - planned);
}

template <class T>
void run_tile(const TileShape& shape, const TileTask& task, Front<T>& front,
              BlockAssembly<T>& assembly) {
  using Kind = TileTask::Kind;
  const FlushSubnormals flush;
  if (task.kind == Kind::kAssemble) {
    assembly.assemble(task.source);
    return assembly.finish(task.source);
  }
  if (!front.is_low_rank())
    compute_tile(shape, task, front);
  else if (compute_compressed(shape, task, front))
    assembly.put_together(task.column);
}

template <class T>
void spill_node(const FrontContext<T>& context, std::int32_t node, bool written,
                const std::function<void()>& done) {
  const AssemblyTree::Node& place = context.tree.nodes[node];
  PageBuffer& factor = context.factor.storage[node];
  PageBuffer& contribution = context.contributions[node];
  const auto bytes = [](const PageBuffer& buffer) {
    return std::span<const std::byte>(buffer.data(),
                                      static_cast<std::size_t>(buffer.size()));
  };
  const bool spill_contribution = place.contribution_at >= 0 && contribution.size() > 0;
  if (place.factor_at >= 0 && written) factor.release();
  if (place.factor_at >= 0 && factor.size() > 0) {
    context.file->write(place.factor_at, bytes(factor),
                        [&factor, done, last = !spill_contribution] {
                          factor.release();
                          if (last) done();
                        });
  } else if (!spill_contribution) {
    done();
  }
  if (!spill_contribution) return;
  context.file->write(place.contribution_at, bytes(contribution), [&contribution, done] {
    contribution.release();
    done();
  });
}

Bytes scratch_bytes(const Symbolic& symbolic, const AssemblyTree& tree, FactorKind kind) {
  if (tree.block_width.empty()) return 0;
  // Delayed columns make a front wider than planned, but not than the matrix.
  const std::int64_t width = std::min(
      *std::max_element(tree.block_width.begin(), tree.block_width.end()), symbolic.size);
  std::int64_t entries =
      std::max(kernels::pivot_scratch(kind, static_cast<std::int32_t>(width)),
               kind == FactorKind::kLdlt ? width * width : 0);
  for (const AssemblyTree::Node& node : tree.nodes)
    if (node.low_rank) {
      const std::int64_t own = tree.block_width[node.last_front];
      entries = std::max(
          {entries, kernels::update_scratch(own), kernels::compress_scratch(own, own)});
    }
  for (const AssemblyTree::Node& node : tree.nodes)
    if (node.contribution_at >= 0)
      entries = std::max(
          {entries, kReadEntries, std::int64_t{symbolic.front_order(node.last_front)}});
  return tree.entry_bytes * entries;
}

#define ESPALIER_INSTANTIATE(T)                                            \
  template void allocate_node(const FrontContext<T>&, std::int32_t);       \
  template void run_sequential_node(const FrontContext<T>&, std::int32_t); \
  template TileShape shape_of(const FrontContext<T>&, const Front<T>&);    \
  template void run_tile(const TileShape&, const TileTask&, Front<T>&,     \
                         BlockAssembly<T>&);                               \
  template void spill_node(const FrontContext<T>&, std::int32_t, bool,     \
                           const std::function<void()>&);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
