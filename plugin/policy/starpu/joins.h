#pragma once

#include <starpu.h>

#include <atomic>
#include <cstdint>

namespace espalier::policy {

/// Tasks of StarPU's own in which pieces of data come together or a whole comes into
/// pieces: they are not executed and no policy is asked, but StarPU fetches their data,
/// and looks for memory until it finds some.
///
/// Thread-safe. Outlives the tasks that it follows.
///
/// @par Test  WithADisk.PiecesThatFindNoMemoryToComeTogetherEndIt
class Joins {
 public:
  /// In the submission of a task that is not executed. Not those of the program, which it
  /// may submit again, and not those for which somebody waits to hear himself.
  void follow(starpu_task& task) {
    const bool starpus = task.destroy != 0 && task.detach != 0 && task.regenerate == 0;
    const bool others = task.prologue_callback_func != nullptr ||
                        task.callback_func != nullptr ||
                        task.cl->callback_func != nullptr;
    if (!starpus || others) return;
    task.prologue_callback_func = [](void* joins) {
      ++static_cast<Joins*>(joins)->begun_;
    };
    task.callback_func = [](void* joins) { ++static_cast<Joins*>(joins)->ended_; };
    task.prologue_callback_arg = task.callback_arg = this;
    task.prologue_callback_arg_free = task.callback_arg_free = 0;
  }

  [[nodiscard]] std::int64_t ended() const { return ended_; }
  /// Those that have all that they wait for but memory.
  [[nodiscard]] std::int64_t under_way() const {
    const std::int64_t ended = ended_;
    return begun_ - ended;
  }

 private:
  std::atomic<std::int64_t> begun_ = 0, ended_ = 0;
};

}  // namespace espalier::policy
