#include "solver/runtime/task_group.h"

#include <starpu.h>

#include <chrono>

#include "solver/runtime/runtime.h"
#include "solver/runtime/starpu_tasks.h"

namespace espalier::solver {

TaskGroup::TaskGroup(const Runtime& runtime) : context_(runtime.context()) {}

void TaskGroup::submit(starpu_task* task) {
  task->sched_ctx = context_;
  task->callback_func = ended;
  task->callback_arg = this;
  ++left_;
  const int status = starpu_task_submit(task);
  if (status == 0) return;
  end_one();
  check_submission(status);
}

void TaskGroup::ended(void* group) noexcept { static_cast<TaskGroup*>(group)->end_one(); }

// The group may be gone as soon as the lock is given back.
void TaskGroup::end_one() noexcept {
  std::int64_t left = left_.load();
  while (left > 1)
    if (left_.compare_exchange_weak(left, left - 1)) return;
  const std::scoped_lock lock(mutex_);
  if (--left_ == 0) empty_.notify_all();
}

void TaskGroup::wait(const std::function<void()>& meanwhile) {
  using namespace std::chrono_literals;
  const auto none_left = [this] { return left_.load() == 0; };
  std::unique_lock lock(mutex_);
  if (!meanwhile) return empty_.wait(lock, none_left);
  while (!empty_.wait_for(lock, 50ms, none_left)) {
    lock.unlock();
    meanwhile();
    lock.lock();
  }
}

}  // namespace espalier::solver
