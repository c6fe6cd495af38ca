#include "solver/runtime/tiled_front.h"

#include "solver/runtime/run_recorder.h"
#include "solver/runtime/starpu_tasks.h"

namespace espalier::solver {
namespace {

using Kind = TileTask::Kind;

template <class T>
Front<T> open_front(const FrontContext<T>& context, std::int32_t node) {
  allocate_node(context, node);
  return Front<T>(context, context.tree.nodes[node].last_front,
                  context.factor.storage[node].template as<T>(),
                  context.contributions[node].template as<T>());
}

}  // namespace

template <class T>
TiledFront<T>::TiledFront(const FrontContext<T>& context, std::int32_t node,
                          RunRecorder* recorder)
    : context_(context),
      node_(node),
      recorder_(recorder),
      front_(open_front(context, node)),
      shape_(shape_of(context, front_)),
      writes_(context.tree.nodes[node].factor_at >= 0 && !front_.has_delayed()),
      assembly_(context, front_, shape_.slices),
      graph_(shape_) {
  if (recorder_ != nullptr) recorder_->opened(node, shape_);
}

template <class T>
starpu_task* TiledFront<T>::create(const TileTask& task) {
  static starpu_codelet codelets[] = {
      make_codelet(run_tile_task, "assemble"), make_codelet(run_tile_task, "factor"),
      make_codelet(run_tile_task, "solve"),    make_codelet(run_tile_task, "accept"),
      make_codelet(run_tile_task, "update"),   make_codelet(run_tile_task, "finish")};
  RunningTask* running = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    running = &tasks_.emplace_back(this, task);
  }
  starpu_task* const result = starpu_task_create();
  result->cl = &codelets[static_cast<int>(task.kind)];
  result->cl_arg = running;
  result->priority = priority(shape_, task);
  return result;
}

template <class T>
void TiledFront<T>::submit(std::function<void(starpu_task*)> submit,
                           std::function<void()> ended) {
  submit_ = std::move(submit);
  ended_ = std::move(ended);
  // One for this function, which a task that ends meanwhile must not destroy.
  to_run_ = graph_.tasks() + 1 + (writes_ ? shape_.panels : 0);
  work_each_ = context_.tree.tasks.work(task_id(static_cast<std::size_t>(node_))) /
               static_cast<double>(graph_.tasks());
  std::vector<TileTask> ready;
  {
    const std::scoped_lock lock(mutex_);
    graph_.start(ready);
  }
  submit_all(ready);
  end_one();
}

template <class T>
void TiledFront<T>::submit_all(const std::vector<TileTask>& ready) {
  for (const TileTask& task : ready) submit_(create(task));
}

template <class T>
void TiledFront<T>::end_one() {
  if (--to_run_ > 0) return;
  try {
    if (!stopped()) front_.compact();
  } catch (...) {
    context_.stop();
  }
  const auto ended = std::move(ended_);
  ended();
}

template <class T>
bool TiledFront<T>::stopped() const {
  return failed_ || context_.log.failed() || (context_.file && context_.file->failed());
}

// The front may be gone when its last task has ended.
template <class T>
void TiledFront<T>::run_tile_task(void* /*buffers*/[], void* argument) noexcept {
  const auto [front, task] = *static_cast<const RunningTask*>(argument);
  RunRecorder* const recorder = front->recorder_;
  if (recorder != nullptr)
    recorder->begin(front->node_, &task, priority(front->shape_, task));
  try {
    // After a failure the tasks that are left do nothing but end.
    if (!front->stopped()) run_tile(front->shape_, task, front->front_, front->assembly_);
  } catch (...) {
    front->failed_ = true;
    front->context_.stop();
  }
  if (front->context_.done != nullptr) front->context_.done->fetch_add(front->work_each_);
  try {
    front->end(task);
  } catch (...) {
    front->context_.stop();  // tasks that StarPU refused: nobody waits for the node
  }
  if (recorder != nullptr) recorder->end();
}

template <class T>
void TiledFront<T>::end(const TileTask& task) {
  const bool of_panel = task.kind == Kind::kFactor || task.kind == Kind::kSolve ||
                        task.kind == Kind::kAccept;
  bool final = false;
  std::vector<TileTask> ready;
  {
    const std::scoped_lock lock(mutex_);
    graph_.end(task, ready);
    final = writes_ && of_panel && graph_.column_done(task.column);
  }
  submit_all(ready);
  if (final) {
    if (stopped())
      end_one();  // nothing to write
    else
      write(task.column);
  }
  end_one();
}

// A factored block is only read from now on.
template <class T>
void TiledFront<T>::write(std::int32_t block) {
  const FrontStorage<T>& storage = front_.storage();
  const BlockColumn<T> column = block_column(storage, block);
  const Bytes at = context_.tree.nodes[node_].factor_at;
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
