#pragma once

#include <starpu.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "solver/front/front_tasks.h"
#include "solver/tree/tile_graph.h"

namespace espalier::solver {

class RunRecorder;

/// What processes that share a front do beside its own tasks: they send one another tiles
/// and pieces of the children's contribution blocks.
class FrontExchange {
 public:
  virtual ~FrontExchange() = default;
  /// Computes kAssemble, kAdd, kTake or kPutBack: the others are the front's.
  virtual void compute(const TileTask& task) = 0;
  /// A task has ended, and what it made ready in the graph is submitted.
  virtual void ended(const TileTask& task) = 0;
};

/// A large front as StarPU tasks on its tiles (tile_graph.h). A task is submitted when
/// all that it waits for has ended, by the task that ended last: so StarPU holds at most
/// one task a tile and the slices that are being assembled, and neither handles nor
/// dependencies (docs/decisions/0115).
///
/// Of a front that processes share these are the tasks on the tiles that are here: the
/// same tasks, so that the front has the same bits wherever its tiles are
/// (docs/decisions/0149). Their assembly, and what comes from others, are the business of
/// a FrontExchange.
template <class T>
class TiledFront {
 public:
  /// Allocates the front's storage. @param recorder  may be null
  TiledFront(const FrontContext<T>& context, std::int32_t node,
             RunRecorder* recorder = nullptr);
  /// Of a front that is shared, whose storage is there. @param exchange  outlives this
  TiledFront(const FrontContext<T>& context, std::int32_t node, FrontShare<T> share,
             FrontExchange& exchange);
  TiledFront(const TiledFront&) = delete;
  TiledFront& operator=(const TiledFront&) = delete;

  /// Whether the panel is in the file already.
  [[nodiscard]] bool written() const { return writes_; }

  /// Submits all tasks through `submit`, which may bind them first. `ended` is called by
  /// the last of them, and may destroy this object.
  void submit(std::function<void(starpu_task*)> submit, std::function<void()> ended);

  // For the exchange, from any thread.
  [[nodiscard]] Front<T>& front() { return front_; }
  [[nodiscard]] const Front<T>& front() const { return front_; }
  [[nodiscard]] BlockAssembly<T>& assembly() { return assembly_; }
  [[nodiscard]] const TileShape& shape() const { return shape_; }
  /// Submits a task that is not in the graph: before the last one of the graph has ended,
  /// or between hold() and release().
  void spawn(const TileTask& task);
  void hold() { ++to_run_; }
  void release() { end_one(); }
  /// As TileGraph's.
  void assembled(std::int32_t column);
  /// The tiles of a panel in rows [begin, end), whole groups of them.
  void arrived(std::int32_t panel, std::int32_t begin, std::int32_t end);
  void finished();
  void trial_known(std::int32_t panel);
  void may_accept(std::int32_t panel);
  void may_finish();
  /// After a failure, here or of another process.
  [[nodiscard]] bool stopped() const;

 private:
  struct RunningTask {
    TiledFront* front;
    TileTask task;
  };

  TiledFront(const FrontContext<T>& context, std::int32_t node, RunRecorder* recorder,
             FrontShare<T> share, FrontExchange* exchange);
  static void run_tile_task(void* buffers[], void* argument) noexcept;
  void compute(const TileTask& task);
  template <class Change>
  void change_graph(const Change& change);
  void end(const TileTask& task);
  void submit_all(const std::vector<TileTask>& ready);
  void end_one();
  void write(std::int32_t block);
  [[nodiscard]] starpu_task* create(const TileTask& task);

  const FrontContext<T>& context_;
  std::int32_t node_;
  RunRecorder* recorder_;
  FrontExchange* exchange_;
  Front<T> front_;
  TileShape shape_;
  bool writes_;  // each block of the panel, once it is factored
  BlockAssembly<T> assembly_;
  Flops work_each_ = 0;  // of a task, all taken for equal
  std::function<void(starpu_task*)> submit_;
  std::function<void()> ended_;
  std::atomic<std::int64_t> to_run_{0};
  std::atomic<bool> failed_{false};  // a task of this front did not do its work

  std::mutex mutex_;  // guards what follows
  TileGraph graph_;
  std::deque<RunningTask> tasks_;
};

}  // namespace espalier::solver
