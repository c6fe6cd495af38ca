#include "solver/runtime/tiled_front.h"

#include <algorithm>

#include "solver/runtime/starpu_tasks.h"

namespace espalier::solver {
namespace {

template <class T>
Front<T> open_front(const FrontContext<T>& context, std::int32_t node) {
  allocate_node(context, node);
  return Front<T>(context, context.tree.nodes[node].last_front,
                  context.factor.storage[node].template as<T>(),
                  context.contributions[node].template as<T>());
}

}  // namespace

template <class T>
TiledFront<T>::TiledFront(const FrontContext<T>& context, std::int32_t node)
    : context_(context),
      task_(task_id(static_cast<std::size_t>(node))),
      front_(open_front(context, node)),
      panels_(front_.panels()),
      blocks_(front_.blocks()),
      may_delay_(context.tree.kind != FactorKind::kCholesky &&
                 context.pivoting.delay_reserve > 0),
      writes_(context.tree.nodes[node].factor_at >= 0 && !front_.has_delayed()),
      assembly_(context, front_),
      handles_(blocks_ + (may_delay_ ? 1 : 0)) {
  // The handles stand for the blocks, whose memory comes later, in the dependencies.
  for (starpu_data_handle_t& handle : handles_) starpu_void_data_register(&handle);
}

template <class T>
starpu_task* TiledFront<T>::create(Kind kind, std::int32_t target, std::int32_t source) {
  static starpu_codelet codelets[] = {
      make_codelet(run_block_task, "assemble", STARPU_VARIABLE_NBUFFERS),
      make_codelet(run_block_task, "factor", STARPU_VARIABLE_NBUFFERS),
      make_codelet(run_block_task, "update", STARPU_VARIABLE_NBUFFERS),
      make_codelet(run_block_task, "finish", STARPU_VARIABLE_NBUFFERS)};
  tasks_.push_back({this, kind, target, source});
  starpu_task* const task = starpu_task_create();
  task->cl = &codelets[static_cast<int>(kind)];
  task->cl_arg = &tasks_.back();
  const auto access = [&](std::int32_t handle, starpu_data_access_mode mode) {
    task->handles[task->nbuffers] = handles_[handle];
    task->modes[task->nbuffers++] = mode;
  };
  if (kind == Kind::kUpdate) access(source < panels_ ? source : blocks_, STARPU_R);
  if (kind == Kind::kFactor && may_delay_) access(blocks_, STARPU_RW);
  access(target, kind == Kind::kAssemble ? STARPU_W : STARPU_RW);
  task->priority = block_priority(blocks_ - target, kind == Kind::kUpdate);
  return task;
}

template <class T>
void TiledFront<T>::submit(const std::function<void(starpu_task*)>& submit,
                           std::function<void()> ended) {
  ended_ = std::move(ended);
  const std::int32_t tail = may_delay_ ? 1 + blocks_ - panels_ : 0;
  const std::int32_t updates = panels_ * (blocks_ - 1) - panels_ * (panels_ - 1) / 2;
  const std::int32_t total = blocks_ + panels_ + updates + tail;
  to_run_ = total + 1 + (writes_ ? panels_ : 0);  // one for this function
  tasks_.reserve(total);
  work_each_ = context_.tree.tasks.work(task_) / total;
  std::vector<starpu_task*> assemblies;
  for (std::int32_t j = 0; j < blocks_; ++j)
    assemblies.push_back(create(Kind::kAssemble, j, 0));
  // Block j begins when all up to j - window are done.
  const std::int32_t window = context_.tree.window;
  for (std::int32_t j = window; j < blocks_; ++j) {
    const std::int32_t first = std::max(0, j - 2 * window + 1);
    starpu_task_declare_deps_array(assemblies[j],
                                   static_cast<unsigned>(j - window - first + 1),
                                   assemblies.data() + first);
  }
  for (starpu_task* const task : assemblies) submit(task);
  for (std::int32_t k = 0; k < panels_; ++k) {
    submit(create(Kind::kFactor, k, 0));
    for (std::int32_t j = k + 1; j < blocks_; ++j) submit(create(Kind::kUpdate, j, k));
  }
  if (may_delay_) {
    submit(create(Kind::kFinish, blocks_, 0));
    for (std::int32_t j = panels_; j < blocks_; ++j)
      submit(create(Kind::kUpdate, j, panels_));
  }
  for (const starpu_data_handle_t handle : handles_)
    starpu_data_unregister_submit(handle);
  end_one();
}

template <class T>
void TiledFront<T>::end_one() {
  if (--to_run_ > 0) return;
  const auto ended = std::move(ended_);
  ended();
}

template <class T>
void TiledFront<T>::run_block_task(void* /*buffers*/[], void* argument) noexcept {
  const auto& task = *static_cast<const BlockTask*>(argument);
  TiledFront& front = *task.front;
  try {
    front.run(task);
  } catch (...) {
    front.context_.stop();
    if (task.kind == Kind::kFactor && front.writes_) front.end_one();
  }
  if (front.context_.done != nullptr) front.context_.done->fetch_add(front.work_each_);
  front.end_one();
}

template <class T>
void TiledFront<T>::run(const BlockTask& task) {
  const bool stopped =
      context_.log.failed() || (context_.file && context_.file->failed());
  if (stopped && task.kind == Kind::kFactor && writes_) end_one();  // nothing to write
  if (stopped) return;
  switch (task.kind) {
    case Kind::kAssemble:
      assembly_.assemble(task.target);
      return assembly_.finish(task.target);
    case Kind::kFactor:
      front_.factor(task.target);
      if (writes_) write(task.target);
      return;
    case Kind::kUpdate:
      return front_.update(task.target, task.source);
    case Kind::kFinish:
      return front_.finish_pivots();
  }
}

// A factored block is only read from now on.
template <class T>
void TiledFront<T>::write(std::int32_t block) {
  const FrontStorage<T>& storage = front_.storage();
  const BlockColumn<T> column = block_column(storage, block);
  const Bytes at = context_.tree.nodes[index(task_)].factor_at;
  for (std::int32_t side = 0; side < storage.sides; ++side) {
    const auto place = std::as_bytes(column.entries(side));
    const auto* const begin = reinterpret_cast<const std::byte*>(storage.panel[0]);
    const bool last = side + 1 == storage.sides;
    try {
      context_.file->write(at + (place.data() - begin), place, [this, last] {
        if (last) end_one();
      });
    } catch (...) {
      // The file keeps its first failure for whoever waits for it.
      end_one();
      return;
    }
  }
}

template class TiledFront<float>;
template class TiledFront<double>;

}  // namespace espalier::solver
