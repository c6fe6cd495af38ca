#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "espalier/model/clock.h"
#include "training/chain/first_error.h"
#include "training/step/conflicts.h"
#include "training/step/messages.h"
#include "training/step/placement.h"
#include "training/step/recipe_kernel.h"
#include "training/step/value_check.h"

struct starpu_task;

namespace espalier::training {

struct StepRunOptions {
  std::int32_t threads =
      1;  ///< of each worker, for one kernel; as when kernels were made
  std::uint64_t seed = 0;
  Messages* messages = nullptr;  ///< where the graph has a Send or a Receive
};

/// A training step on StarPU, as often as wanted. Each operator is a task; what it waits
/// for follows from the bytes that it touches, so that any number of workers gives what
/// the order gives. A message occupies no worker: its task starts it, and ends when it
/// has passed. StarPU runs and is awake while steps run.
class StepRun {
 public:
  /// @param order  each operator of the graph once
  /// All that is given outlives this.
  StepRun(const OperatorGraph& graph, StepKernels& kernels,
          const std::vector<OperatorId>& order, const Placement& placement,
          const StepRunOptions& options);

  /// Runs all operators once, and returns when they have ended.
  /// @throws what the first kernel that failed threw, naming its operator
  void run(std::int64_t step);

  /// From the next step on, looks at all that operators write. null: no longer.
  void watch(ValueCheck* check) { check_ = check; }

  /// The highest end of what kernels were given in the arena so far, in bytes from its
  /// first, rounded up to the alignment. 0 without an arena.
  [[nodiscard]] Bytes arena_peak() const { return arena_peak_; }
  /// Processor seconds that each operator took of its worker in the last step: from the
  /// end of the operator before it, so that the way through StarPU counts, unless the
  /// worker had to wait for what it waits for. Of a message to start it.
  [[nodiscard]] const std::vector<Seconds>& operator_seconds() const { return seconds_; }
  /// From the first submission of the last step to the end of its last task.
  [[nodiscard]] Seconds span() const { return span_; }
  /// Tasks of a step.
  [[nodiscard]] std::int64_t tasks() const { return std::ssize(tasks_); }

 private:
  struct Task {
    StepRun* run = nullptr;
    OperatorId op{};
    Kernel* kernel = nullptr;  // null: a message
    std::optional<Message> message = {};
    std::vector<std::byte*> inputs = {}, outputs = {};
    std::byte* workspace = nullptr;
    Bytes end = 0;  // of what it touches in the arena
    std::vector<std::int32_t> after = {};
  };

  Task task_of(OperatorId id, StepKernels& kernels, const Placement& placement,
               std::vector<MemoryAccess>& accesses);
  Task message_task(OperatorId id, const Message& message, const Placement& placement,
                    std::vector<MemoryAccess>& accesses);
  void execute(const Task& task) noexcept;
  void look_at_results(const Task& task) const;
  void compute(const Task& task);
  void pass(const Task& task) noexcept;
  void passed(const Task& task, starpu_task* running) noexcept;
  void occupied(const Task& task, Seconds entry) noexcept;
  [[nodiscard]] std::size_t position(const Task& task) const {
    return static_cast<std::size_t>(&task - tasks_.data());
  }
  void reach(Bytes end) noexcept;
  void ended() noexcept;
  static void run_task(void** buffers, void* task);

  const OperatorGraph& graph_;
  StepRunOptions options_;
  std::vector<Task> tasks_;              // in the order
  std::vector<Seconds> seconds_;         // by operator, of this step
  std::vector<Clock::time_point> ends_;  // by task, of this step
  Clock::time_point start_;              // of this step
  Seconds span_ = 0;
  std::vector<starpu_task*> running_;  // by task: of the step that runs
  std::int64_t step_ = 0;
  ValueCheck* check_ = nullptr;
  FirstError errors_;
  std::atomic<Bytes> arena_peak_{0};
  std::mutex mutex_;
  std::condition_variable all_ended_;
  std::int64_t left_ = 0;
};

}  // namespace espalier::training
