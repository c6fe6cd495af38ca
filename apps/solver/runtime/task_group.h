#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

struct starpu_task;

namespace espalier::solver {

class Runtime;

/// Tasks that one caller waits for, among all that StarPU runs: those of other solvers,
/// and of the program that runs StarPU, go on.
///
/// A task has ended when StarPU has told the policy and has called the task's callback,
/// which is the group's; after that StarPU touches nothing of ours. Tasks may be
/// submitted by tasks of the group.
class TaskGroup {
 public:
  explicit TaskGroup(const Runtime& runtime);
  ~TaskGroup() = default;
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  /// Submits the task to the runtime's scheduling context. Its callback is the group's.
  /// @throws Error when StarPU refuses it: the task is not one of the group then
  void submit(starpu_task* task);
  /// Returns when no task of the group is left. Not from a task.
  /// @param meanwhile  called about 20 times a second until then, throws nothing; may be
  ///                   empty
  void wait(const std::function<void()>& meanwhile = {});

 private:
  static void ended(void* group) noexcept;
  void end_one() noexcept;

  const unsigned context_;
  std::atomic<std::int64_t> left_{0};  // goes to 0 only under the lock
  std::mutex mutex_;
  std::condition_variable empty_;
};

}  // namespace espalier::solver
