#include "solver/runtime/node_sweep.h"

#include "solver/runtime/runtime.h"
#include "solver/runtime/starpu_tasks.h"

namespace espalier::solver {

NodeSweep::NodeSweep(const Runtime& runtime, std::size_t nodes) : group_(runtime) {
  arguments_.reserve(nodes);
  for (std::size_t i = 0; i < nodes; ++i)
    arguments_.push_back({this, static_cast<std::int32_t>(i)});
  for (std::int32_t worker = 0; worker < runtime.workers(); ++worker)
    teams_.emplace_back(group_);
}

void NodeSweep::run_from(std::span<const std::int32_t> first,
                         const std::function<void()>& ask) {
  for (const std::int32_t node : first) submit(node);
  if (!ask)
    group_.wait();
  else
    group_.wait([&] {
      if (stopped_) return;
      try {
        ask();
      } catch (...) {
        stop();  // tasks that run refer to this object: they are waited for
      }
    });
  if (error_) std::rethrow_exception(error_);
}

void NodeSweep::submit(std::int32_t node) {
  static starpu_codelet codelet = make_codelet(run_node, "solve");
  starpu_task* const task = starpu_task_create();
  task->cl = &codelet;
  task->cl_arg = &arguments_[node];
  try {
    group_.submit(task);
  } catch (...) {
    stop();
  }
}

void NodeSweep::run(std::int32_t tiles, const std::function<void(std::int32_t)>& tile) {
  teams_[static_cast<std::size_t>(worker_rank())].run(tiles, tile);
}

void NodeSweep::stop() noexcept {
  const std::scoped_lock lock(mutex_);
  if (!error_) error_ = std::current_exception();
  stopped_ = true;
}

void NodeSweep::run_node(void* /*buffers*/[], void* argument) noexcept {
  const auto [sweep, node] = *static_cast<const Argument*>(argument);
  if (!sweep->stopped_) {
    try {
      sweep->visit(node);
    } catch (...) {
      sweep->stop();
    }
  }
  sweep->submit_next(node);
}

}  // namespace espalier::solver
