#include "solver/front_tasks.h"

#include <algorithm>
#include <cstring>

#include "solver/kernels/dense.h"

namespace espalier::solver {
namespace {

// The fronts of one node in turn, with the stack of contribution blocks inside it.
class NodeRun {
 public:
  NodeRun(const FrontContext& context, std::int32_t node)
      : context_(context),
        symbolic_(context.symbolic),
        tree_(context.tree),
        node_(context.tree.nodes[node]),
        scratch_(node_.stack_entries * static_cast<Bytes>(sizeof(double)) +
                     node_.index_entries * static_cast<Bytes>(sizeof(std::int32_t)),
                 context.meter),
        indices_(
            reinterpret_cast<std::int32_t*>(scratch_.doubles() + node_.stack_entries)),
        panel_(context.factor.storage[node].doubles()),
        output_(context.contributions[node].doubles()) {}

  void run() {
    for (std::int32_t s = node_.first_front; s <= node_.last_front; ++s) {
      if (context_.pivots.failed()) return;
      const FrontStorage front = open(s);
      const std::int64_t children = assemble(s, front);
      factor(s, front);
      close(s, front, children);
    }
  }

 private:
  FrontStorage open(std::int32_t s) {
    FrontStorage front{tree_.panel(symbolic_, s), tree_.contribution(symbolic_, s),
                       panel_, output_};
    context_.factor.panel[s] = panel_;
    panel_ += front.panel_layout.entries();
    if (s < node_.last_front) {
      front.contribution = scratch_.doubles() + top_;
      std::fill_n(front.contribution, front.contribution_layout.entries(), 0.0);
    }
    return front;
  }

  // @return entries of the stack that the children took
  std::int64_t assemble(std::int32_t s, const FrontStorage& front) {
    add_original_entries(symbolic_, context_.permuted, s, 0, symbolic_.pivots(s), front);
    std::int64_t on_stack = 0;
    for (std::int32_t c = tree_.first_child[s]; c >= 0; c = tree_.next_sibling[c])
      if (c >= node_.first_front) on_stack += tree_.contribution(symbolic_, c).entries();
    const double* block = scratch_.doubles() + top_ - on_stack;
    for (std::int32_t c = tree_.first_child[s]; c >= 0; c = tree_.next_sibling[c]) {
      const Trapezoid layout = tree_.contribution(symbolic_, c);
      const bool inside = c >= node_.first_front;
      const double* const source =
          inside ? block : context_.contributions[tree_.node_of_front[c]].doubles();
      if (inside) block += layout.entries();
      const std::span indices(indices_, static_cast<std::size_t>(layout.rows()));
      relative_indices(symbolic_, c, s, indices);
      extend_add(layout, source, indices, 0, layout.columns(), front);
      if (!inside) context_.contributions[tree_.node_of_front[c]].release();
    }
    return on_stack;
  }

  void factor(std::int32_t s, const FrontStorage& front) {
    const std::int32_t panels = front.panel_layout.blocks();
    const std::int32_t blocks = panels + front.contribution_layout.blocks();
    for (std::int32_t k = 0; k < panels; ++k) {
      if (const std::int32_t failed = factor_block(front, k)) {
        context_.pivots.report(symbolic_.first_column[s] + failed - 1);
        return;
      }
      for (std::int32_t j = k + 1; j < blocks; ++j) update_block(front, j, k);
    }
  }

  // The front's contribution block takes the place of its children's.
  void close(std::int32_t s, const FrontStorage& front, std::int64_t children) {
    if (s == node_.last_front) return;
    const std::int64_t entries = front.contribution_layout.entries();
    if (children > 0)
      std::memmove(front.contribution - children, front.contribution,
                   static_cast<std::size_t>(entries) * sizeof(double));
    top_ += entries - children;
  }

  const FrontContext& context_;
  const Symbolic& symbolic_;
  const AssemblyTree& tree_;
  const AssemblyTree::Node& node_;
  PageBuffer scratch_;
  std::int32_t* indices_;
  double* panel_;
  double* output_;
  std::int64_t top_ = 0;  // entries on the stack
};

}  // namespace

BlockColumn block_column(const FrontStorage& front, std::int32_t block) {
  const std::int32_t panels = front.panel_layout.blocks();
  const bool in_panel = block < panels;
  const Trapezoid& layout = in_panel ? front.panel_layout : front.contribution_layout;
  const std::int32_t local = in_panel ? block : block - panels;
  return {(in_panel ? front.panel : front.contribution) + layout.offset(local),
          layout.first(local) + (in_panel ? 0 : front.panel_layout.columns()),
          layout.width(local), layout.leading(local)};
}

std::int32_t factor_block(const FrontStorage& front, std::int32_t block) {
  const BlockColumn column = block_column(front, block);
  const std::int32_t failed =
      kernels::cholesky(column.width, column.data, column.leading);
  if (failed != 0) return column.first + failed;
  kernels::solve_below(column.leading - column.width, column.width, column.data,
                       column.leading, column.data + column.width, column.leading);
  return 0;
}

void update_block(const FrontStorage& front, std::int32_t target, std::int32_t source) {
  const BlockColumn from = block_column(front, source), to = block_column(front, target);
  kernels::update(to.leading, to.width, from.width, from.data + (to.first - from.first),
                  from.leading, to.data, to.leading);
}

void allocate_node(const FrontContext& context, std::int32_t node) {
  const TaskId task = task_id(static_cast<std::size_t>(node));
  context.factor.storage[node] =
      PageBuffer(context.tree.tasks.retained_size(task), context.meter);
  context.contributions[node] =
      PageBuffer(context.tree.tasks.output_size(task), context.meter);
}

void run_sequential_node(const FrontContext& context, std::int32_t node) {
  allocate_node(context, node);
  NodeRun(context, node).run();
}

}  // namespace espalier::solver
