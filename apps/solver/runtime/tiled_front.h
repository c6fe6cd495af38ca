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

/// A large front as StarPU tasks on its tiles (tile_graph.h). A task is submitted when
/// all that it waits for has ended, by the task that ended last: so StarPU holds at most
/// one task a tile and the slices that are being assembled, and neither handles nor
/// dependencies (docs/decisions/0115).
template <class T>
class TiledFront {
 public:
  /// Allocates the front's storage. @param recorder  may be null
  TiledFront(const FrontContext<T>& context, std::int32_t node,
             RunRecorder* recorder = nullptr);
  TiledFront(const TiledFront&) = delete;
  TiledFront& operator=(const TiledFront&) = delete;

  /// Whether the panel is in the file already.
  [[nodiscard]] bool written() const { return writes_; }

  /// Submits all tasks through `submit`, which may bind them first. `ended` is called by
  /// the last of them, and may destroy this object.
  void submit(std::function<void(starpu_task*)> submit, std::function<void()> ended);

 private:
  struct RunningTask {
    TiledFront* front;
    TileTask task;
  };

  static void run_tile_task(void* buffers[], void* argument) noexcept;
  void end(const TileTask& task);
  void submit_all(const std::vector<TileTask>& ready);
  void end_one();
  void write(std::int32_t block);
  [[nodiscard]] bool stopped() const;
  [[nodiscard]] starpu_task* create(const TileTask& task);

  const FrontContext<T>& context_;
  std::int32_t node_;
  RunRecorder* recorder_;
  Front<T> front_;
  TileShape shape_;
  bool writes_;  // each block of the panel, once it is factored
  BlockAssembly<T> assembly_;
  Flops work_each_ = 0;  // of a task, all taken for equal
  std::function<void(starpu_task*)> submit_;
  std::function<void()> ended_;
  std::atomic<std::int64_t> to_run_;
  std::atomic<bool> failed_{false};  // a task of this front did not do its work

  std::mutex mutex_;  // guards what follows
  TileGraph graph_;
  std::deque<RunningTask> tasks_;
};

}  // namespace espalier::solver
