// The C interface: checks arguments, turns exceptions into codes, calls the C++ behind.

#include <fmt/format.h>

#include <cerrno>
#include <limits>
#include <string>

#include "espalier.h"
#include "espalier/parallel/make_plan.h"
#include "policy/scheduler.h"

using namespace espalier;
using namespace espalier::policy;

struct espalier_tree {
  std::shared_ptr<const TaskTree> tree;
};

struct espalier_plan {
  std::shared_ptr<const Plan> plan;
};

struct espalier_job {
  std::shared_ptr<Scheduler> scheduler;
  std::unique_ptr<Job> job;
  unsigned context = 0;
};

namespace {

thread_local std::string last_error;

int fail(int code, std::string text) {
  last_error = std::move(text);
  return -code;
}

// Every function of the interface runs in here: what is thrown ends as a code.
template <class Function>
int guarded(Function&& function) noexcept {
  try {
    return function();
  } catch (const InvalidInput& e) {
    return fail(EINVAL, e.what());
  } catch (const OverflowError& e) {
    return fail(EOVERFLOW, e.what());
  } catch (const std::bad_alloc&) {
    last_error = "out of memory";  // fits without allocating
    return -ENOMEM;
  } catch (const std::exception& e) {
    return fail(EIO, e.what());
  }
}

// A null pointer where an object is needed. @throws InvalidInput
template <class T>
T& need(T* pointer, const char* name) {
  if (pointer == nullptr) throw InvalidInput(fmt::format("{} is NULL", name));
  return *pointer;
}

TaskId need_node(const Job& job, std::int32_t node) {
  const std::size_t size = job.gate().plan().tree->size();
  if (node < 0 || static_cast<std::size_t>(node) >= size)
    throw InvalidInput(fmt::format("node {} is not one of 0 … {}", node,
                                   static_cast<std::int64_t>(size) - 1));
  return TaskId{node};
}

std::vector<Task> tasks_from(std::int32_t n, const std::int32_t* parents,
                             const std::int64_t* outputs, const std::int64_t* executions,
                             const std::int64_t* retained, const double* work) {
  std::vector<Task> tasks(static_cast<std::size_t>(n));
  for (std::int32_t i = 0; i < n; ++i) {
    Task& task = tasks[static_cast<std::size_t>(i)];
    if (parents[i] < -1)
      throw InvalidInput(fmt::format("node {}: parent {} is below -1", i, parents[i]));
    if (parents[i] >= 0) task.parent = TaskId{parents[i]};
    task.output_size = outputs[i];
    if (executions != nullptr) task.execution_size = executions[i];
    if (retained != nullptr) task.retained_size = retained[i];
    task.work = work != nullptr ? work[i] : 1;
  }
  return tasks;
}

PlanOptions plan_options(const espalier_plan_options& from, std::size_t nodes) {
  PlanOptions options;
  if (from.size != sizeof(espalier_plan_options))
    throw InvalidInput(fmt::format("options.size is {}, not {}", from.size, sizeof from));
  if (from.memory_bound < 0 || from.workers < 0)
    throw InvalidInput(fmt::format("memory_bound {} or workers {} is negative",
                                   from.memory_bound, from.workers));
  if (from.memory_bound > 0) options.memory_bound = from.memory_bound;
  if (from.workers > 0) options.workers = from.workers;
  switch (from.order) {
    case ESPALIER_ORDER_LIU:
      options.order = OrderKind::kLiu;
      break;
    case ESPALIER_ORDER_POSTORDER:
      options.order = OrderKind::kPostorder;
      break;
    default:
      throw InvalidInput(fmt::format("no order {}", from.order));
  }
  switch (from.mapping) {
    case ESPALIER_MAPPING_MEMORY_AWARE:
      options.mapping = MappingKind::kMemoryAware;
      break;
    case ESPALIER_MAPPING_PROPORTIONAL:
      options.mapping = MappingKind::kProportional;
      break;
    case ESPALIER_MAPPING_ALL_TO_ALL:
      options.mapping = MappingKind::kAllToAll;
      break;
    default:
      throw InvalidInput(fmt::format("no mapping {}", from.mapping));
  }
  if (from.max_workers != nullptr)
    options.max_workers.assign(from.max_workers, from.max_workers + nodes);
  return options;
}

// Why the policy would lose sight of a task, or nullptr.
const char* cannot_be_bound(const starpu_task& task, bool node_started) {
  if (task.cl == nullptr) return "the task has no codelet";
  const bool nowhere =
      task.where == -1 ? task.cl->where == STARPU_NOWHERE : task.where == STARPU_NOWHERE;
  if (nowhere) return "the task runs nowhere";
  if (task.regenerate != 0) return "the task is regenerated";
  if (task.execute_on_a_specific_worker != 0 && !node_started)
    return "StarPU would start a task for a specific worker before its node";
  return nullptr;
}

void fill(const espalier_job& handle, espalier_report& out) {
  const Job& job = *handle.job;
  const GateReport gate = job.gate().report();
  out.bound_bytes = job.gate().plan().memory_bound;
  out.booked_peak = gate.booked_peak;
  out.allocated_peak = gate.allocated_peak;
  out.allocated_bytes = gate.allocated;
  out.overruns = gate.overruns;
  out.overrun_bytes = gate.overrun_bytes;
  out.overrun_node = gate.overrun_node;
  out.cancelled = gate.cancelled ? 1 : 0;
  out.nodes = static_cast<std::int64_t>(job.gate().plan().tree->size());
  out.nodes_ended = gate.nodes_ended;
  out.held_tasks = gate.held_tasks;
  out.held_seconds = gate.held_time;
  out.tasks = out.stolen_tasks = 0;
  out.busy_seconds = 0;
  for (const Job::Tally& tally : job.tallies()) {
    out.tasks += tally.tasks;
    out.stolen_tasks += tally.stolen;
    out.busy_seconds += tally.busy;
  }
  out.workers = job.workers();
  out.reserved = 0;
}

int fill_checked(const espalier_job& job, espalier_report& report) {
  if (report.size != sizeof report)
    return fail(EINVAL,
                fmt::format("report.size is {}, not {}", report.size, sizeof report));
  fill(job, report);
  return 0;
}

}  // namespace

const char* espalier_last_error(void) { return last_error.c_str(); }

starpu_sched_policy* espalier_sched_policy(void) { return starpu_policy(); }

int espalier_tree_create(espalier_tree** tree, int32_t n, const int32_t* parents,
                         const int64_t* output_sizes, const int64_t* execution_sizes,
                         const int64_t* retained_sizes, const double* work) {
  return guarded([&] {
    need(tree, "tree") = nullptr;
    if (n < 0) return fail(EINVAL, fmt::format("{} nodes", n));
    if (n > 0) {
      need(parents, "parents");
      need(output_sizes, "output_sizes");
    }
    const auto tasks =
        tasks_from(n, parents, output_sizes, execution_sizes, retained_sizes, work);
    *tree = new espalier_tree{std::make_shared<const TaskTree>(tasks)};
    return 0;
  });
}

void espalier_tree_destroy(espalier_tree* tree) { delete tree; }

int espalier_plan_create(espalier_plan** plan, const espalier_tree* tree,
                         const espalier_plan_options* options, int64_t* least) {
  return guarded([&] {
    need(plan, "plan") = nullptr;
    const auto& task_tree = need(tree, "tree").tree;
    PlanOptions given;
    if (options != nullptr) given = plan_options(*options, task_tree->size());
    Expected<Plan> made = make_plan(task_tree, given);
    if (least != nullptr) *least = made ? made->least_bytes : made.error().least_bytes;
    if (!made) return fail(ENOMEM, made.error().message());
    *plan = new espalier_plan{std::make_shared<const Plan>(std::move(*made))};
    return 0;
  });
}

void espalier_plan_destroy(espalier_plan* plan) { delete plan; }

int64_t espalier_plan_bound(const espalier_plan* plan) {
  return plan != nullptr ? plan->plan->memory_bound : fail(EINVAL, "plan is NULL");
}

int64_t espalier_plan_least_bytes(const espalier_plan* plan) {
  return plan != nullptr ? plan->plan->least_bytes : fail(EINVAL, "plan is NULL");
}

int espalier_job_begin(espalier_job** job, const espalier_plan* plan,
                       unsigned sched_ctx_id) {
  return guarded([&] {
    need(job, "job") = nullptr;
    need(plan, "plan");
    auto scheduler = Scheduler::running_in(sched_ctx_id);
    if (scheduler == nullptr)
      return fail(ENOENT, fmt::format("scheduling context {} does not run the espalier "
                                      "policy (a name that StarPU does not find becomes "
                                      "lws)",
                                      sched_ctx_id));
    auto begun = scheduler->begin(plan->plan, sched_ctx_id);
    if (begun == nullptr)
      return fail(EBUSY, fmt::format("{} jobs run in scheduling context {} already",
                                     JobTable::kCapacity, sched_ctx_id));
    *job = new espalier_job{std::move(scheduler), std::move(begun), sched_ctx_id};
    return 0;
  });
}

int espalier_bind(espalier_job* job, starpu_task* task, int32_t node) {
  return guarded([&] {
    need(task, "task");
    const TaskId id = need_node(*need(job, "job").job, node);
    Gate& gate = job->job->gate();
    if (const char* why = cannot_be_bound(*task, gate.started(id)))
      return fail(EINVAL, fmt::format("node {}: {}", node, why));
    if (task->sched_ctx == STARPU_NMAX_SCHED_CTXS) task->sched_ctx = job->context;
    if (task->sched_ctx != job->context)
      return fail(EINVAL, fmt::format("node {}: the task is for scheduling context {}, "
                                      "the job runs in {}",
                                      node, task->sched_ctx, job->context));
    if (!gate.bind(id)) return fail(EINVAL, fmt::format("node {} is closed", node));
    task->sched_data = &gate.nodes()[index(id)];
    return 0;
  });
}

int espalier_unbind(espalier_job* job, starpu_task* task) {
  return guarded([&] {
    need(task, "task");
    Job& target = *need(job, "job").job;
    if (job->scheduler->job_of(task) != &target)
      return fail(EINVAL, "the task is not bound to this job");
    const TaskId node = target.gate().node_of(task->sched_data);
    task->sched_data = nullptr;
    std::vector<Released> released;
    target.gate().finish(node, Scheduler::now(), released);
    job->scheduler->enqueue(target, released);
    return 0;
  });
}

int espalier_node_close(espalier_job* job, int32_t node) {
  return guarded([&] {
    Job& target = *need(job, "job").job;
    const auto scheduler = job->scheduler;
    std::vector<Released> released;
    if (!target.gate().close(need_node(target, node), Scheduler::now(), released))
      return fail(EINVAL, fmt::format("node {} is closed already", node));
    scheduler->enqueue(target, released);
    return 0;
  });
}

int espalier_node_started(const espalier_job* job, int32_t node) {
  return guarded([&] {
    const Job& target = *need(job, "job").job;
    return target.gate().started(need_node(target, node)) ? 1 : 0;
  });
}

int espalier_job_allocated(espalier_job* job, int32_t node, int64_t delta) {
  return guarded([&] {
    Job& target = *need(job, "job").job;
    if (node != -1) need_node(target, node);
    if (target.gate().allocate(node, delta)) return 0;
    return fail(ENOSPC, fmt::format("node {}: with {} bytes more, more is allocated than "
                                    "booked",
                                    node, delta));
  });
}

int espalier_job_cancel(espalier_job* job) {
  return guarded([&] {
    Job& target = *need(job, "job").job;
    std::vector<Released> released;
    target.gate().cancel(Scheduler::now(), released);
    job->scheduler->enqueue(target, released);
    return 0;
  });
}

int espalier_job_report(const espalier_job* job, espalier_report* report) {
  return guarded([&] { return fill_checked(need(job, "job"), need(report, "report")); });
}

int espalier_job_end(espalier_job* job, espalier_report* report) {
  return guarded([&] {
    if (!need(job, "job").job->gate().done()) {
      const GateReport gate = job->job->gate().report();
      return fail(EBUSY, fmt::format("{} of {} nodes have ended", gate.nodes_ended,
                                     job->job->gate().plan().tree->size()));
    }
    if (report != nullptr)
      if (const int code = fill_checked(*job, *report)) return code;
    job->scheduler->end(*job->job);
    delete job;
    return 0;
  });
}
