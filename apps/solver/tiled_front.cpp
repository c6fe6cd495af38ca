#include "solver/tiled_front.h"

#include <algorithm>

#include "solver/starpu_tasks.h"

namespace espalier::solver {
namespace {

std::int32_t child_rows(const Symbolic& symbolic, std::int32_t child) {
  return static_cast<std::int32_t>(symbolic.rows_of(child).size());
}

}  // namespace

TiledFront::TiledFront(const FrontContext& context, std::int32_t node)
    : context_(context),
      task_(task_id(static_cast<std::size_t>(node))),
      front_(context.tree.nodes[node].last_front) {
  const Symbolic& symbolic = context.symbolic;
  allocate_node(context, node);
  storage_ = {
      context.tree.panel(symbolic, front_), context.tree.contribution(symbolic, front_),
      context.factor.storage[node].doubles(), context.contributions[node].doubles()};
  context.factor.panel[front_] = storage_.panel;
  panels_ = storage_.panel_layout.blocks();
  blocks_ = panels_ + storage_.contribution_layout.blocks();

  indices_ = PageBuffer(
      context.tree.nodes[node].index_entries * static_cast<Bytes>(sizeof(std::int32_t)),
      context.meter);
  auto* indices = reinterpret_cast<std::int32_t*>(indices_.data());
  for (auto c = context.tree.first_child[front_]; c >= 0;
       c = context.tree.next_sibling[c]) {
    const std::int32_t rows = child_rows(symbolic, c);
    relative_indices(symbolic, c, front_, {indices, static_cast<std::size_t>(rows)});
    indices += rows;
  }
  handles_.resize(blocks_);
  for (std::int32_t j = 0; j < blocks_; ++j) {
    const BlockColumn block = block_column(storage_, j);
    starpu_matrix_data_register(
        &handles_[j], STARPU_MAIN_RAM, reinterpret_cast<std::uintptr_t>(block.data),
        block.leading, block.leading, block.width, sizeof(double));
  }
}

starpu_task* TiledFront::create(Kind kind, std::int32_t target, std::int32_t source) {
  static starpu_codelet codelets[] = {
      make_codelet(run_block_task, "assemble", STARPU_VARIABLE_NBUFFERS),
      make_codelet(run_block_task, "factor", STARPU_VARIABLE_NBUFFERS),
      make_codelet(run_block_task, "update", STARPU_VARIABLE_NBUFFERS)};
  tasks_.push_back({this, kind, target, source});
  starpu_task* const task = starpu_task_create();
  task->cl = &codelets[static_cast<int>(kind)];
  task->cl_arg = &tasks_.back();
  if (kind == Kind::kUpdate) {
    task->handles[task->nbuffers] = handles_[source];
    task->modes[task->nbuffers++] = STARPU_R;
  }
  task->handles[task->nbuffers] = handles_[target];
  task->modes[task->nbuffers++] = kind == Kind::kAssemble ? STARPU_W : STARPU_RW;
  // What the next panels wait for goes first, and factoring before updating.
  task->priority = 2 * (blocks_ - target) + (kind == Kind::kUpdate ? 0 : 1);
  return task;
}

void TiledFront::submit(const std::function<void(starpu_task*)>& submit,
                        std::function<void()> ended) {
  ended_ = std::move(ended);
  const std::int32_t updates = panels_ * (blocks_ - 1) - panels_ * (panels_ - 1) / 2;
  const std::int32_t total = blocks_ + panels_ + updates;
  to_assemble_ = blocks_;
  to_run_ = total + 1;  // one for this function
  tasks_.reserve(total);
  work_each_ = context_.tree.tasks.work(task_) / total;
  for (std::int32_t j = 0; j < blocks_; ++j) submit(create(Kind::kAssemble, j, 0));
  for (std::int32_t k = 0; k < panels_; ++k) {
    submit(create(Kind::kFactor, k, 0));
    for (std::int32_t j = k + 1; j < blocks_; ++j) submit(create(Kind::kUpdate, j, k));
  }
  for (const starpu_data_handle_t handle : handles_)
    starpu_data_unregister_submit(handle);
  end_one();
}

void TiledFront::end_one() {
  if (--to_run_ > 0) return;
  const auto ended = std::move(ended_);
  ended();
}

void TiledFront::run_block_task(void* /*buffers*/[], void* argument) noexcept {
  const auto& task = *static_cast<const BlockTask*>(argument);
  TiledFront& front = *task.front;
  front.run(task);
  if (front.context_.done != nullptr) front.context_.done->fetch_add(front.work_each_);
  front.end_one();
}

void TiledFront::run(const BlockTask& task) {
  if (context_.pivots.failed()) return;
  switch (task.kind) {
    case Kind::kAssemble:
      return assemble(task.target);
    case Kind::kFactor:
      if (const std::int32_t failed = factor_block(storage_, task.target))
        context_.pivots.report(context_.symbolic.first_column[front_] + failed - 1);
      return;
    case Kind::kUpdate:
      return update_block(storage_, task.target, task.source);
  }
}

void TiledFront::assemble(std::int32_t block) {
  const Symbolic& symbolic = context_.symbolic;
  const AssemblyTree& tree = context_.tree;
  const BlockColumn columns = block_column(storage_, block);
  const std::int32_t end = columns.first + columns.width;
  if (block < panels_)
    add_original_entries(symbolic, context_.permuted, front_, columns.first, end,
                         storage_);
  const auto* indices = reinterpret_cast<const std::int32_t*>(indices_.data());
  for (auto c = tree.first_child[front_]; c >= 0; c = tree.next_sibling[c]) {
    const std::int32_t rows = child_rows(symbolic, c);
    const auto position = [&](std::int32_t column) {
      return static_cast<std::int32_t>(std::lower_bound(indices, indices + rows, column) -
                                       indices);
    };
    extend_add(tree.contribution(symbolic, c),
               context_.contributions[tree.node_of_front[c]].doubles(),
               {indices, static_cast<std::size_t>(rows)}, position(columns.first),
               position(end), storage_);
    indices += rows;
  }
  if (--to_assemble_ > 0) return;
  // The last to read the children gives them back.
  for (auto c = tree.first_child[front_]; c >= 0; c = tree.next_sibling[c])
    context_.contributions[tree.node_of_front[c]].release();
  indices_.release();
}

}  // namespace espalier::solver
