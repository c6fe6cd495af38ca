#include "solver/runtime/tiled_front.h"

#include <algorithm>

#include "solver/runtime/run_recorder.h"
#include "solver/runtime/starpu_tasks.h"

namespace espalier::solver {
namespace {

using Kind = TileTask::Kind;

template <class T>
Front<T> open_front(const FrontContext<T>& context, std::int32_t node, bool allocates,
                    FrontShare<T> share) {
  if (allocates) allocate_node(context, node);
  return Front<T>(context, context.tree.nodes[node].last_front,
                  context.factor.storage[node].template as<T>(),
                  context.contributions[node].template as<T>(), std::move(share));
}

// The tiles of a graph that are here; none: all are.
template <class T>
TileGraph::Mine tiles_here(const TileShape& shape, const Front<T>& front,
                           const FrontExchange* exchange) {
  if (exchange == nullptr) return {};
  TileGraph::Mine mine;
  for (std::int32_t j = 0; j < shape.blocks; ++j)
    for (std::int32_t row = 0; row < shape.groups(); ++row)
      mine.push_back(row >= shape.group_of(j) &&
                     front.has(front.strip_of(shape.first_block(row)), j));
  return mine;
}

// Tasks that the graph of a shared front does not have.
bool of_exchange(Kind kind) {
  return kind == Kind::kAssemble || kind == Kind::kAdd || kind == Kind::kTake ||
         kind == Kind::kPutBack;
}

}  // namespace

template <class T>
TiledFront<T>::TiledFront(const FrontContext<T>& context, std::int32_t node,
                          RunRecorder* recorder)
    : TiledFront(context, node, recorder, {}, nullptr) {}

template <class T>
TiledFront<T>::TiledFront(const FrontContext<T>& context, std::int32_t node,
                          FrontShare<T> share, FrontExchange& exchange)
    : TiledFront(context, node, nullptr, std::move(share), &exchange) {}

template <class T>
TiledFront<T>::TiledFront(const FrontContext<T>& context, std::int32_t node,
                          RunRecorder* recorder, FrontShare<T> share,
                          FrontExchange* exchange)
    : context_(context),
      node_(node),
      recorder_(recorder),
      exchange_(exchange),
      front_(open_front(context, node, exchange == nullptr, std::move(share))),
      shape_(shape_of(context, front_)),
      writes_(context.tree.nodes[node].factor_at >= 0 && !front_.has_delayed() &&
              exchange == nullptr),
      assembly_(context, front_, exchange == nullptr ? shape_.slices : 1),
      graph_(shape_, tiles_here(shape_, front_, exchange)) {
  if (recorder_ != nullptr) recorder_->opened(node, shape_);
}

template <class T>
starpu_task* TiledFront<T>::create(const TileTask& task) {
  static starpu_codelet codelets[] = {
      make_codelet(run_tile_task, "assemble"), make_codelet(run_tile_task, "factor"),
      make_codelet(run_tile_task, "solve"),    make_codelet(run_tile_task, "accept"),
      make_codelet(run_tile_task, "update"),   make_codelet(run_tile_task, "finish"),
      make_codelet(run_tile_task, "add"),      make_codelet(run_tile_task, "take"),
      make_codelet(run_tile_task, "put back")};
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
  to_run_ += graph_.tasks() + 1 + (writes_ ? shape_.panels : 0);
  work_each_ = context_.tree.tasks.work(task_id(static_cast<std::size_t>(node_))) /
               static_cast<double>(std::max<std::int64_t>(1, graph_.tasks()));
  change_graph([&](std::vector<TileTask>& ready) { graph_.start(ready); });
  end_one();
}

// Changes the graph, and submits what that makes ready.
template <class T>
template <class Change>
void TiledFront<T>::change_graph(const Change& change) {
  std::vector<TileTask> ready;
  {
    const std::scoped_lock lock(mutex_);
    change(ready);
  }
  submit_all(ready);
}

template <class T>
void TiledFront<T>::assembled(std::int32_t column) {
  change_graph([&](std::vector<TileTask>& ready) { graph_.assembled(column, ready); });
}

template <class T>
void TiledFront<T>::arrived(std::int32_t panel, std::int32_t begin, std::int32_t end) {
  change_graph([&](std::vector<TileTask>& ready) {
    for (std::int32_t row = shape_.group_of(panel); row < shape_.groups(); ++row) {
      const std::int32_t first =
          front_.first_row(std::max(shape_.first_block(row), panel));
      if (first >= begin && first < end) graph_.arrived(row, panel, ready);
    }
  });
}

template <class T>
void TiledFront<T>::finished() {
  change_graph([&](std::vector<TileTask>& ready) { graph_.finished(ready); });
}

template <class T>
void TiledFront<T>::trial_known(std::int32_t panel) {
  change_graph([&](std::vector<TileTask>& ready) { graph_.trial_known(panel, ready); });
}

template <class T>
void TiledFront<T>::may_accept(std::int32_t panel) {
  change_graph([&](std::vector<TileTask>& ready) { graph_.may_accept(panel, ready); });
}

template <class T>
void TiledFront<T>::may_finish() {
  change_graph([&](std::vector<TileTask>& ready) { graph_.may_finish(ready); });
}

template <class T>
void TiledFront<T>::spawn(const TileTask& task) {
  ++to_run_;
  submit_(create(task));
}

template <class T>
void TiledFront<T>::submit_all(const std::vector<TileTask>& ready) {
  for (const TileTask& task : ready) submit_(create(task));
}

template <class T>
void TiledFront<T>::end_one() {
  if (--to_run_ > 0) return;
  const auto ended = std::move(ended_);
  ended();
}

template <class T>
bool TiledFront<T>::stopped() const {
  return failed_ || context_.log.failed() || (context_.file && context_.file->failed());
}

// After a failure the tasks that are left do nothing but end; those of others wait for
// what is sent. How many columns are put off the processes of a front tell each other,
// and how many the rows of each of them bear: what that follows from is done, with
// whatever the columns hold.
template <class T>
void TiledFront<T>::compute(const TileTask& task) {
  const bool tells = shape_.has_tail || (shape_.tested && front_.strips() > 1);
  if (exchange_ != nullptr && of_exchange(task.kind))
    exchange_->compute(task);
  else if (!stopped() || (exchange_ != nullptr && tells && task.kind != Kind::kUpdate))
    run_tile(shape_, task, front_, assembly_);
}

// The front may be gone when its last task has ended.
template <class T>
void TiledFront<T>::run_tile_task(void* /*buffers*/[], void* argument) noexcept {
  const auto [front, task] = *static_cast<const RunningTask*>(argument);
  RunRecorder* const recorder = front->recorder_;
  if (recorder != nullptr)
    recorder->begin(front->node_, &task, priority(front->shape_, task));
  try {
    front->compute(task);
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
  if (exchange_ == nullptr || !of_exchange(task.kind))
    change_graph([&](std::vector<TileTask>& ready) {
      graph_.end(task, ready);
      final = of_panel && graph_.column_done(task.column);
    });
  if (exchange_ != nullptr) exchange_->ended(task);
  if (final && writes_) {
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

#define ESPALIER_INSTANTIATE(T) template class TiledFront<T>;
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
