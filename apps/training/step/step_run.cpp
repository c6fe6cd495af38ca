#include "training/step/step_run.h"

#include <fmt/format.h>
#include <starpu.h>

#include <algorithm>

#include "espalier/model/clock.h"
#include "espalier/model/error.h"
#include "espalier/model/processor_time.h"
#include "solver/runtime/starpu_tasks.h"
#include "training/step/kernel_threads.h"

namespace espalier::training {
namespace {

MemoryAccess access(const std::byte* at, Bytes bytes, bool writes) {
  return {reinterpret_cast<std::uintptr_t>(at), bytes, writes};
}

// Inputs that a kernel changes although no output says so.
bool changes_input(const Operator& op, std::size_t input) {
  return op.type == "BatchNormalization" && (input == 3 || input == 4);
}

// Where the last byte lies that is touched, rounded up; 0 without an arena.
Bytes end_of(const std::vector<MemoryAccess>& accesses, const std::byte* arena) {
  if (arena == nullptr) return 0;
  const auto first = reinterpret_cast<std::uintptr_t>(arena);
  Bytes end = 0;
  for (const MemoryAccess& each : accesses)
    if (each.bytes > 0)
      end = std::max(end, static_cast<Bytes>(each.begin - first) + each.bytes);
  return (end + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
}

}  // namespace

StepRun::StepRun(const OperatorGraph& graph, StepKernels& kernels,
                 const std::vector<OperatorId>& order, const Placement& placement,
                 const StepRunOptions& options)
    : graph_(graph), options_(options), seconds_(graph.size()) {
  std::vector<std::vector<MemoryAccess>> accesses;
  for (const OperatorId id : order) {
    const auto message = message_of(graph.op(id));
    if (!message && !kernels.by_operator[index(id)]) continue;
    accesses.emplace_back();
    tasks_.push_back(message ? message_task(id, *message, placement, accesses.back())
                             : task_of(id, kernels, placement, accesses.back()));
  }
  auto before = conflicts(accesses);
  for (std::size_t i = 0; i < tasks_.size(); ++i) tasks_[i].after = std::move(before[i]);
}

StepRun::Task StepRun::task_of(OperatorId id, StepKernels& kernels,
                               const Placement& placement,
                               std::vector<MemoryAccess>& accesses) {
  const Operator& op = graph_.op(id);
  Task task{.run = this,
            .op = id,
            .kernel = kernels.by_operator[index(id)].get(),
            .inputs = {},
            .outputs = {},
            .workspace = placement.workspace(id)};
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    task.inputs.push_back(op.inputs[i] ? placement.tensor(*op.inputs[i]) : nullptr);
    if (op.inputs[i])
      accesses.push_back(access(task.inputs.back(), graph_.tensor(*op.inputs[i]).bytes,
                                changes_input(op, i)));
  }
  for (const auto& output : op.outputs) {
    task.outputs.push_back(output ? placement.tensor(*output) : nullptr);
    if (output)
      accesses.push_back(access(task.outputs.back(), graph_.tensor(*output).bytes, true));
  }
  if (op.workspace > 0) accesses.push_back(access(task.workspace, op.workspace, true));
  task.end = end_of(accesses, placement.arena());
  return task;
}

// It touches the part that passes, and no other byte.
StepRun::Task StepRun::message_task(OperatorId id, const Message& message,
                                    const Placement& placement,
                                    std::vector<MemoryAccess>& accesses) {
  const Operator& op = graph_.op(id);
  std::byte* const tensor =
      placement.tensor(message.sent ? *op.inputs.at(0) : *op.outputs.at(0));
  accesses.push_back(access(tensor + message.first, message.bytes, !message.sent));
  return {.run = this,
          .op = id,
          .message = message,
          .outputs = {tensor},
          .end = end_of(accesses, placement.arena())};
}

void StepRun::reach(Bytes end) noexcept {
  Bytes peak = arena_peak_;
  while (end > peak && !arena_peak_.compare_exchange_weak(peak, end)) {
  }
}

void StepRun::execute(const Task& task) noexcept {
  const Seconds entry = thread_seconds();
  if (task.message) {
    pass(task);
    return occupied(task, entry);
  }
  errors_.run([&] {
    reach(task.end);
    try {
      compute(task);
      if (check_ != nullptr) look_at_results(task);
    } catch (const InvalidInput& error) {
      throw InvalidInput(fmt::format("{}: {}", label(graph_.op(task.op)), error.what()));
    } catch (const std::exception& error) {
      throw Error(fmt::format("{}: {}", label(graph_.op(task.op)), error.what()));
    }
  });
  occupied(task, entry);
}

void StepRun::look_at_results(const Task& task) const {
  const Operator& op = graph_.op(task.op);
  for (std::size_t i = 0; i < op.outputs.size(); ++i) {
    if (!op.outputs[i]) continue;
    const Tensor& tensor = graph_.tensor(*op.outputs[i]);
    if (tensor.type == ElementType::kFloat32)
      check_->look(&task - tasks_.data(), task.op, *op.outputs[i],
                   floats(task.outputs[i], tensor));
  }
}

void StepRun::compute(const Task& task) {
  use_threads(options_.threads);
  task.kernel->run({.inputs = task.inputs,
                    .outputs = task.outputs,
                    .scratch = task.workspace,
                    .step = step_,
                    .seed = options_.seed});
}

// After it has run; of a message, after it has been started.
void StepRun::occupied(const Task& task, Seconds entry) noexcept {
  struct Moment {
    Clock::time_point at;
    Seconds processor = 0;
  };
  static thread_local Moment last;  // end of what the worker did before
  auto ready = start_;
  for (const std::int32_t each : task.after)
    ready = std::max(ready, ends_[static_cast<std::size_t>(each)]);
  const bool waited = last.at < ready;
  const Moment now{Clock::now(), thread_seconds()};
  seconds_[index(task.op)] = now.processor - (waited ? entry : last.processor);
  if (!task.message) ends_[position(task)] = now.at;
  last = now;
}

// Also when an operator has failed: the other process waits for the message.
void StepRun::pass(const Task& task) noexcept {
  starpu_task* const running = running_[position(task)];
  try {
    reach(task.end);
    options_.messages->pass(*task.message,
                            {task.outputs.front() + task.message->first,
                             static_cast<std::size_t>(task.message->bytes)},
                            [this, &task, running] { passed(task, running); });
  } catch (...) {
    errors_.keep(std::current_exception());
    passed(task, running);
  }
}

void StepRun::passed(const Task& task, starpu_task* running) noexcept {
  ends_[position(task)] = Clock::now();
  starpu_task_end_dep_release(running);
}

void StepRun::run_task(void** /*buffers*/, void* task) {
  const Task& own = *static_cast<const Task*>(task);
  own.run->execute(own);
}

void StepRun::ended() noexcept {
  const std::scoped_lock lock(mutex_);
  if (--left_ == 0) all_ended_.notify_all();
}

void StepRun::run(std::int64_t step) {
  static starpu_codelet codelet = solver::make_codelet(&StepRun::run_task, "operator");
  step_ = step;
  std::vector<starpu_task*>& tasks = running_;
  tasks.clear();
  for (Task& own : tasks_) {
    starpu_task* const task = starpu_task_create();
    task->cl = &codelet;
    task->cl_arg = &own;
    task->cl_arg_size = sizeof own;
    // Messages start before what computes beside them.
    task->priority = own.message ? STARPU_MAX_PRIO : STARPU_DEFAULT_PRIO;
    task->callback_func = [](void* run) noexcept { static_cast<StepRun*>(run)->ended(); };
    task->callback_arg = this;
    std::vector<starpu_task*> before;
    for (const std::int32_t each : own.after)
      before.push_back(tasks[static_cast<std::size_t>(each)]);
    if (!before.empty())
      starpu_task_declare_deps_array(task, static_cast<unsigned>(before.size()),
                                     before.data());
    if (own.message) starpu_task_end_dep_add(task, 1);
    tasks.push_back(task);
  }
  left_ = std::ssize(tasks);
  start_ = Clock::now();
  ends_.assign(tasks.size(), start_);
  int refused = 0;
  for (starpu_task* const task : tasks) {
    const int status = refused == 0 ? starpu_task_submit(task) : refused;
    if (status == 0) continue;
    // No worker takes tasks: none was taken, so none is waited for.
    refused = status;
    ended();
  }
  std::unique_lock lock(mutex_);
  all_ended_.wait(lock, [this] { return left_ == 0; });
  span_ = since(start_);
  solver::check_submission(refused);
  errors_.rethrow();
}

}  // namespace espalier::training
