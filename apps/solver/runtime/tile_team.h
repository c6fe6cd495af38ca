#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>

#include "solver/solve/tile_runner.h"

namespace espalier::solver {

class TaskGroup;

/// Tiles of a step that one worker takes, and others that have nothing else to do.
///
/// The worker takes tiles until none is left, so it depends on nobody; what it waits for
/// in the end are tiles that others are at. Helpers are tasks of a group: one is
/// submitted with the step, and each that finds more than it takes submits another. A
/// helper that comes late finds nothing to do, or tiles of the worker's next step. No
/// more than one waits to be started.
class TileTeam final : public TileRunner {
 public:
  /// @param group  of the helpers, which touch this until it is empty; outlives this
  explicit TileTeam(TaskGroup& group) : group_(group) {}
  TileTeam(const TileTeam&) = delete;
  TileTeam& operator=(const TileTeam&) = delete;

  /// By a task, one step at a time. That StarPU refuses a helper is no error.
  void run(std::int32_t tiles, const std::function<void(std::int32_t)>& tile) override;

 private:
  using Lock = std::unique_lock<std::mutex>;
  static void help(void* buffers[], void* team) noexcept;
  void call_help(Lock& lock) noexcept;
  void take_tiles(Lock& lock) noexcept;

  TaskGroup& group_;
  std::mutex mutex_;
  std::condition_variable done_;
  const std::function<void(std::int32_t)>* tile_ = nullptr;  // while tiles are left
  std::int32_t next_ = 0, end_ = 0, running_ = 0;
  bool help_is_coming_ = false;  // a helper has been submitted, and has not started
  std::exception_ptr error_;     // the step's first
};

}  // namespace espalier::solver
