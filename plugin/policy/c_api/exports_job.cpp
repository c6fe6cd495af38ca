// The C interface: jobs.

#include "espalier/model/versioned_struct.h"
#include "policy/c_api/scheduler.h"
#include "policy/starpu/clock.h"
#include "policy/starpu/exports.h"
#include "policy/starpu/handles.h"

using namespace espalier;
using namespace espalier::policy;

struct espalier_job {
  std::shared_ptr<Scheduler> scheduler;
  std::unique_ptr<Job> job;
  unsigned context = 0;
};

namespace {

TaskId need_node(const Job& job, std::int32_t node) {
  const std::size_t size = job.gate().plan().tree->size();
  if (node < 0 || static_cast<std::size_t>(node) >= size)
    throw InvalidInput(fmt::format("node {} is not one of 0 … {}", node,
                                   static_cast<std::int64_t>(size) - 1));
  return TaskId{node};
}

// Why the policy would lose sight of a task, or nullptr.
const char* cannot_be_bound(const starpu_task& task, bool node_started) {
  if (task.cl == nullptr) return "the task has no codelet";
  if (!is_executed(task)) return "the task runs nowhere";
  if (task.regenerate != 0) return "the task is regenerated";
  if (task.execute_on_a_specific_worker != 0 && !node_started)
    return "StarPU would start a task for a specific worker before its node";
  return nullptr;
}

void fill(const espalier_job& handle, espalier_report& out) {
  const Job& job = *handle.job;
  const TreeGateReport gate = job.gate().report();
  out.bound_bytes = job.gate().bound();
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
  out.given_back_bytes = gate.given_back;
}

// That there were, in order; the last one is the present one.
constexpr std::size_t kReportSizes[] = {128, sizeof(espalier_report)};

// @throws InvalidInput
int fill_checked(const espalier_job& job, espalier_report& report) {
  espalier_report all{};
  fill(job, all);
  give_versioned(all, kReportSizes, "report", report);
  return 0;
}

int begin(espalier_job** job, const espalier_plan* plan, std::optional<Bytes> bound,
          unsigned context) {
  need(job, "job") = nullptr;
  need(plan, "plan");
  auto scheduler = Scheduler::running_in(context);
  if (scheduler == nullptr)
    return fail(ENOENT, fmt::format("scheduling context {} does not run the espalier "
                                    "policy (a name that StarPU does not find becomes "
                                    "lws)",
                                    context));
  auto begun = scheduler->begin(plan->plan, bound, context);
  if (begun == nullptr)
    return fail(EBUSY, fmt::format("{} jobs run in scheduling context {} already",
                                   JobTable::kCapacity, context));
  *job = new espalier_job{std::move(scheduler), std::move(begun), context};
  return 0;
}

}  // namespace

int espalier_job_begin(espalier_job** job, const espalier_plan* plan,
                       unsigned sched_ctx_id) {
  return guarded([&] { return begin(job, plan, std::nullopt, sched_ctx_id); });
}

int espalier_job_begin_within(espalier_job** job, const espalier_plan* plan,
                              int64_t bound, unsigned sched_ctx_id) {
  return guarded([&] {
    if (bound < 0) throw InvalidInput(fmt::format("bound is {}: negative", bound));
    return begin(job, plan, bound, sched_ctx_id);
  });
}

int espalier_bind(espalier_job* job, starpu_task* task, int32_t node) {
  return guarded([&] {
    need(task, "task");
    const TaskId id = need_node(*need(job, "job").job, node);
    TreeGate& gate = job->job->gate();
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
    target.gate().finish(node, now(), released);
    job->scheduler->enqueue(target, released);
    return 0;
  });
}

int espalier_node_close(espalier_job* job, int32_t node) {
  return guarded([&] {
    Job& target = *need(job, "job").job;
    const auto scheduler = job->scheduler;
    std::vector<Released> released;
    if (!target.gate().close(need_node(target, node), now(), released))
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

int espalier_node_give_back(espalier_job* job, int32_t node, int64_t bytes) {
  return guarded([&] {
    Job& target = *need(job, "job").job;
    const auto scheduler = job->scheduler;
    std::vector<Released> released;
    if (!target.gate().give_back(need_node(target, node), bytes, now(), released))
      return fail(EINVAL,
                  fmt::format("node {}: {} bytes are not left of what it retains, "
                              "or it has not started",
                              node, bytes));
    scheduler->enqueue(target, released);
    return 0;
  });
}

int espalier_job_missing(const espalier_job* job, int64_t* bytes) {
  return guarded([&] {
    const Bytes missing = need(job, "job").job->gate().missing();
    if (bytes != nullptr) *bytes = missing;
    return missing > 0 ? 1 : 0;
  });
}

int espalier_job_cancel(espalier_job* job) {
  return guarded([&] {
    Job& target = *need(job, "job").job;
    std::vector<Released> released;
    target.gate().cancel(now(), released);
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
      const TreeGateReport gate = job->job->gate().report();
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
