#pragma once

#include <starpu.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "solver/front_tasks.h"

namespace espalier::solver {

/// A large front as StarPU tasks on its block columns: assemble(J) for every block,
/// factor(K) for the panel's blocks, update(J, K) of every block J > K by factored K.
/// One data handle a block column; StarPU derives the dependencies from the accesses.
class TiledFront {
 public:
  /// Allocates the front's storage and registers its blocks.
  TiledFront(const FrontContext& context, std::int32_t node);
  TiledFront(const TiledFront&) = delete;
  TiledFront& operator=(const TiledFront&) = delete;

  /// Submits all tasks through `submit`, which may bind them first. `ended` is called by
  /// the last of them, and may destroy this object.
  void submit(const std::function<void(starpu_task*)>& submit,
              std::function<void()> ended);

 private:
  enum class Kind : std::int8_t { kAssemble, kFactor, kUpdate };
  struct BlockTask {
    TiledFront* front;
    Kind kind;
    std::int32_t target, source;  // block columns; source of updates only
  };

  static void run_block_task(void* buffers[], void* argument) noexcept;
  void run(const BlockTask& task);
  void end_one();
  void assemble(std::int32_t block);
  [[nodiscard]] starpu_task* create(Kind kind, std::int32_t target, std::int32_t source);

  const FrontContext& context_;
  TaskId task_;
  std::int32_t front_;
  FrontStorage storage_;
  std::int32_t panels_, blocks_;
  PageBuffer indices_;  // of all children, one after the other
  std::vector<starpu_data_handle_t> handles_;
  std::vector<BlockTask> tasks_;
  std::atomic<std::int32_t> to_assemble_, to_run_;
  Flops work_each_ = 0;  // of a task, all taken for equal
  std::function<void()> ended_;
};

}  // namespace espalier::solver
