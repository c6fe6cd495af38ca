#include "solver/runtime/tile_team.h"

#include <utility>

#include "solver/runtime/starpu_tasks.h"
#include "solver/runtime/task_group.h"

namespace espalier::solver {

void TileTeam::run(std::int32_t tiles, const std::function<void(std::int32_t)>& tile) {
  Lock lock(mutex_);
  tile_ = &tile;
  next_ = 0;
  end_ = tiles;
  if (tiles > 1) call_help(lock);
  take_tiles(lock);
  done_.wait(lock, [this] { return running_ == 0; });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void TileTeam::call_help(Lock& lock) noexcept {
  if (help_is_coming_) return;
  help_is_coming_ = true;
  lock.unlock();
  static starpu_codelet codelet = make_codelet(help, "solve_tiles");
  starpu_task* const task = starpu_task_create();
  task->cl = &codelet;
  task->cl_arg = this;
  bool refused = false;
  try {
    group_.submit(task);
  } catch (...) {
    refused = true;
  }
  lock.lock();
  if (refused) help_is_coming_ = false;
}

void TileTeam::take_tiles(Lock& lock) noexcept {
  while (next_ < end_) {
    const std::int32_t mine = next_++;
    ++running_;
    lock.unlock();
    std::exception_ptr error;
    try {
      (*tile_)(mine);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    --running_;
    if (!error_) error_ = std::move(error);
  }
}

void TileTeam::help(void* /*buffers*/[], void* argument) noexcept {
  auto& team = *static_cast<TileTeam*>(argument);
  Lock lock(team.mutex_);
  team.help_is_coming_ = false;
  if (team.end_ - team.next_ > 1) team.call_help(lock);
  team.take_tiles(lock);
  if (team.running_ == 0) team.done_.notify_one();
}

}  // namespace espalier::solver
