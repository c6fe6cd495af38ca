#pragma once

#include <starpu.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "solver/front/block_assembly.h"
#include "solver/front/front_tasks.h"

namespace espalier::solver {

/// A large front as StarPU tasks on its block columns: assemble(J) for every block,
/// factor(K) for the panel's blocks, update(J, K) of every block J > K by factored K;
/// where columns may be delayed, finish() of the pivots and update(J, panels) of the
/// contribution block. Blocks are assembled in turn, AssemblyTree::window at once: their
/// memory is taken when they begin, and what the blocks done have read of the children is
/// given back. One data handle a block column and one for the slots; StarPU
/// derives the dependencies from the accesses.
template <class T>
class TiledFront {
 public:
  /// Allocates the front's storage and registers its blocks.
  TiledFront(const FrontContext<T>& context, std::int32_t node);
  TiledFront(const TiledFront&) = delete;
  TiledFront& operator=(const TiledFront&) = delete;

  /// Whether the panel is in the file already.
  [[nodiscard]] bool written() const { return writes_; }

  /// Submits all tasks through `submit`, which may bind them first. `ended` is called by
  /// the last of them, and may destroy this object.
  void submit(const std::function<void(starpu_task*)>& submit,
              std::function<void()> ended);

 private:
  enum class Kind : std::int8_t { kAssemble, kFactor, kUpdate, kFinish };
  struct BlockTask {
    TiledFront* front;
    Kind kind;
    std::int32_t target, source;  // block columns; source of updates only
  };

  static void run_block_task(void* buffers[], void* argument) noexcept;
  void run(const BlockTask& task);
  void end_one();
  void write(std::int32_t block);
  [[nodiscard]] starpu_task* create(Kind kind, std::int32_t target, std::int32_t source);

  const FrontContext<T>& context_;
  TaskId task_;
  Front<T> front_;
  std::int32_t panels_, blocks_;
  bool may_delay_;
  bool writes_;  // each block of the panel, once it is factored
  BlockAssembly<T> assembly_;
  std::vector<starpu_data_handle_t> handles_;  // blocks, then the slots
  std::vector<BlockTask> tasks_;
  std::atomic<std::int32_t> to_run_;
  Flops work_each_ = 0;  // of a task, all taken for equal
  std::function<void()> ended_;
};

}  // namespace espalier::solver
