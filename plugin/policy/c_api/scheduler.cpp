// The functions that StarPU calls, one after the other: over 300 lines.

#include "policy/c_api/scheduler.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <thread>

#include "policy/core/one_writer.h"
#include "policy/core/settings.h"
#include "policy/mpi/starpu_mpi_lock.h"
#include "policy/starpu/clock.h"

namespace espalier::policy {

static_assert(STARPU_NMAXWORKERS <= kMaxWorkers);

namespace {

WorkerSet everybody(std::size_t workers) {
  WorkerSet set;
  for (std::size_t worker = 0; worker < workers; ++worker) set.set(worker);
  return set;
}

bool of_one_kind(std::size_t workers) {
  for (std::size_t worker = 1; worker < workers; ++worker)
    if (starpu_worker_get_type(static_cast<int>(worker)) != starpu_worker_get_type(0))
      return false;
  return true;
}

std::vector<int> workers_of(unsigned context) {
  int* ids = nullptr;
  const unsigned count = starpu_sched_ctx_get_workers_list(context, &ids);
  std::vector<int> workers(ids, ids + count);
  std::free(ids);
  // Combined workers, numbered after the others, are none of ours.
  std::erase_if(workers, [](int id) {
    return id < 0 || static_cast<unsigned>(id) >= starpu_worker_get_count();
  });
  std::sort(workers.begin(), workers.end());
  return workers;
}

}  // namespace

Scheduler::Scheduler()
    : workers_(starpu_worker_get_count()),
      one_kind_(of_one_kind(workers_)),
      placement_(workers_),
      unbound_(placement_.queue(everybody(workers_), everybody(workers_))),
      session_(Session::join()),
      watch_(session_ ? SessionWatch::join(session_) : nullptr),
      waiting_(kWorkersSleep ? workers_ : 0),
      idle_sleep_(idle_sleep(process_environment, workers_, core_share())) {
  share_starpu_mpi_lock();
}

void Scheduler::submit(starpu_task* task) {
  if (session_) session_->submitted(*task, job_of(task) != nullptr);
}

// StarPU has given the task to a worker itself.
void Scheduler::push_elsewhere(starpu_task* task) {
  if (session_) session_->bypasses(*task);
}

void Scheduler::do_schedule() {
  if (session_) session_->application_waits();
}

void Scheduler::push(starpu_task* task) {
  // First: another worker may run and destroy the task as soon as it is passed on.
  starpu_push_task_end(task);
  Job* const job = job_of(task);
  if (session_) session_->asks(*task);
  if (job == nullptr) {
    if (session_ && !session_->ready(*task, false)) return;
    if (session_) session_->passes(*task);
    place(task, unbound_, kUnboundRank);
    return;
  }
  const TaskId node = job->gate().node_of(task->sched_data);
  if (!job->gate().started(node) && !job->gate().admit(node, task, now())) return;
  if (session_) session_->passes(*task);
  const Job::Destination& destination = job->destination(node);
  place(task, *destination.queue, destination.path);
}

// A worker that has found nothing for a while leaves its core to others. StarPU lets
// others at a worker, as to give it a task that only it may take, between its looks for
// tasks alone, which is an instant where it sleeps in each: so it lets them while it
// sleeps. Its context may be gone then: nothing is read of it afterwards.
void Scheduler::rest(bool idle) const {
  constexpr int kLooks = 20;
  thread_local int looks = 0;
  if (kWorkersSleep || idle_sleep_.count() == 0) return;
  looks = idle ? looks + 1 : 0;
  if (looks <= kLooks) return;
  const std::chrono::microseconds time = idle_sleep_;
  starpu_worker_relax_on();
  std::this_thread::sleep_for(time);
  starpu_worker_relax_off();
}

starpu_task* Scheduler::pop() {
  if (session_) queue_all(session_->poll());
  const auto worker = static_cast<std::size_t>(starpu_worker_get_id());
  Placement::Popped popped = placement_.pop(worker);
  if (kWorkersSleep && popped.task == nullptr) {
    waiting_[worker] = true;
    popped = placement_.pop(worker);  // pushed meanwhile by someone who saw no waiting
    if (popped.task != nullptr) waiting_[worker] = false;
  }
  rest(popped.task == nullptr);
  if (popped.task == nullptr) return nullptr;
  auto* const task = static_cast<starpu_task*>(popped.task);
  unsigned implementation = 0;
  if (starpu_worker_can_execute_task_first_impl(static_cast<unsigned>(worker), task,
                                                &implementation) == 0) {
    requeue(task);
    return nullptr;
  }
  starpu_task_set_implementation(task, implementation);
  if (session_) session_->taken(*task);
  if (popped.stolen)
    if (Job* const job = job_of(task)) add<std::int64_t>(job->tally(worker).stolen, 1);
  return task;
}

void Scheduler::pre_exec(const starpu_task* task) {
  if (session_) queue_all(session_->starts(*task));
  const int worker = starpu_worker_get_id();
  Job* const job = job_of(task);
  if (job == nullptr || worker < 0) return;
  job->tally(static_cast<std::size_t>(worker)).task_start = now();
}

void Scheduler::post_exec(starpu_task* task) {
  Job* const job = job_of(task);
  if (session_) queue_all(session_->ended(*task, job != nullptr));
  if (job == nullptr) return;
  const Seconds time = now();
  if (const int worker = starpu_worker_get_id(); worker >= 0) {
    Job::Tally& tally = job->tally(static_cast<std::size_t>(worker));
    add<std::int64_t>(tally.tasks, 1);
    add<Seconds>(tally.busy, time - tally.task_start);
  }
  const TaskId node = job->gate().node_of(task->sched_data);
  task->sched_data = nullptr;
  std::vector<Released> released;
  job->gate().finish(node, time, released);
  enqueue(*job, released);
}

// The job may be gone once its last task is queued: nothing is read of it afterwards.
void Scheduler::enqueue(const Job& job, const std::vector<Released>& released) {
  for (const Released& r : released) {
    const Job::Destination& destination = job.destination(r.node);
    place(static_cast<starpu_task*>(r.task), *destination.queue, destination.path);
  }
}

void Scheduler::place(starpu_task* task, Placement::Queue& queue, std::uint32_t path) {
  if (session_) session_->placed(*task);
  Placement::Queue& chosen =
      all_can_execute(task)
          ? queue
          : placement_.queue(Placement::preferred(queue), able_workers(task));
  placement_.push(chosen, make_rank(path, task->priority), task);
  wake_one(chosen);
}

// A worker took a task that it turned out not to be able to execute: its can_execute()
// has changed its mind, or the worker was disabled. Placed anew, as able_workers() now
// says.
void Scheduler::requeue(starpu_task* task) {
  const Job* const job = job_of(task);
  const Job::Destination destination =
      job == nullptr ? Job::Destination{&unbound_, kUnboundRank}
                     : job->destination(job->gate().node_of(task->sched_data));
  Placement::Queue& queue =
      placement_.queue(Placement::preferred(*destination.queue), able_workers(task));
  placement_.push(queue, make_rank(destination.path, task->priority), task);
  wake_one(queue);
}

// The common case, decided without asking about each worker: StarPU has made sure at
// submission that some worker can, and on workers of one kind so can all.
bool Scheduler::all_can_execute(const starpu_task* task) const {
  return one_kind_ && task->cl->can_execute == nullptr && task->workerids_len == 0;
}

WorkerSet Scheduler::able_workers(starpu_task* task) const {
  WorkerSet able;
  for (unsigned worker = 0; worker < workers_; ++worker)
    if (starpu_worker_can_execute_task_first_impl(worker, task, nullptr) != 0)
      able.set(worker);
  return able.any() ? able : everybody(workers_);
}

// One waiting worker that is able is enough: whichever it is, it may take any task. A
// worker that does not wait looks here before it sleeps.
void Scheduler::wake_one(const Placement::Queue& queue) {
  if constexpr (kWorkersSleep) {
    const auto try_wake = [&](std::size_t worker) {
      return waiting_[worker] && waiting_[worker].exchange(false) &&
             starpu_wake_worker_relax_light(static_cast<int>(worker)) != 0;
    };
    const WorkerSet& preferred = Placement::preferred(queue);
    const WorkerSet& able = Placement::able(queue);
    for (std::size_t w = 0; w < workers_; ++w)
      if (able[w] && preferred[w] && try_wake(w)) return;
    for (std::size_t w = 0; w < workers_; ++w)
      if (able[w] && !preferred[w] && try_wake(w)) return;
  }
}

std::unique_ptr<Job> Scheduler::begin(std::shared_ptr<const Plan> plan,
                                      std::optional<Bytes> bound, unsigned context) {
  auto job = std::make_unique<Job>(std::move(plan), workers_of(context), workers_,
                                   placement_, bound);
  return jobs_.attach(*job) ? std::move(job) : nullptr;
}

void Scheduler::end(const Job& job) {
  if (session_) session_->job_ended(job.gate().report(), job.gate().bound());
  jobs_.detach(job);
}

namespace {

// What a context's policy data points at: the context's share of its scheduler.
using Share = std::shared_ptr<Scheduler>;

Share* share_of(unsigned context) {
  return static_cast<Share*>(starpu_sched_ctx_get_policy_data(context));
}

void init(unsigned context) noexcept {
  if (starpu_sched_ctx_min_priority_is_set(context) == 0)
    starpu_sched_ctx_set_min_priority(context, INT_MIN);
  if (starpu_sched_ctx_max_priority_is_set(context) == 0)
    starpu_sched_ctx_set_max_priority(context, INT_MAX);
  starpu_sched_ctx_set_policy_data(context, new Share(std::make_shared<Scheduler>()));
}

void deinit(unsigned context) noexcept {
  delete share_of(context);
  starpu_sched_ctx_set_policy_data(context, nullptr);
}

void add_workers(unsigned context, int* ids, unsigned count) noexcept {
  for (unsigned i = 0; i < count; ++i) {
    if (ids[i] != starpu_worker_get_id()) starpu_wake_worker_locked(ids[i]);
    starpu_sched_ctx_worker_shares_tasks_lists(ids[i], static_cast<int>(context));
  }
}

void submit_hook(starpu_task* task) noexcept {
  (*share_of(task->sched_ctx))->submit(task);
}

bool is_ours(unsigned context) {
  // StarPU runs a copy of the object that it was given.
  const starpu_sched_policy* const policy = starpu_sched_ctx_get_sched_policy(context);
  return policy != nullptr && policy->init_sched == init;
}

// StarPU tells all contexts of a worker of a task that it gives to that worker itself,
// and of the execution of tasks whose context has no policy. One of them counts the task:
// its own, or else the first; none where that has another policy, which alone is told
// more.
bool counts_in(unsigned context, starpu_task* task, int worker) {
  if (task->sched_ctx == context) return true;
  const unsigned own = starpu_sched_ctx_get_ctx_for_task(task);
  if (own == context) return true;
  if (starpu_sched_ctx_get_sched_policy(own) != nullptr &&
      (!is_ours(own) || starpu_sched_ctx_contains_worker(worker, own) != 0))
    return false;
  for (unsigned first = 0; first < context; ++first)
    if (is_ours(first) && starpu_sched_ctx_contains_worker(worker, first) != 0)
      return false;
  return true;
}

void push_task_notify(starpu_task* task, int worker, int, unsigned context) noexcept {
  if (counts_in(context, task, worker)) (*share_of(context))->push_elsewhere(task);
}

void do_schedule(unsigned context) noexcept { (*share_of(context))->do_schedule(); }

int push_task(starpu_task* task) noexcept {
  (*share_of(task->sched_ctx))->push(task);
  return 0;
}

starpu_task* pop_task(unsigned context) noexcept { return (*share_of(context))->pop(); }

void pre_exec_hook(starpu_task* task, unsigned context) noexcept {
  if (counts_in(context, task, starpu_worker_get_id()))
    (*share_of(context))->pre_exec(task);
}

void post_exec_hook(starpu_task* task, unsigned context) noexcept {
  if (counts_in(context, task, starpu_worker_get_id()))
    (*share_of(context))->post_exec(task);
}

// Where StarPU asks (1.4 on), keep it from fetching the data of tasks that the gate
// holds.
void claim_prefetching(auto& policy) {
  if constexpr (requires { policy.prefetches; }) policy.prefetches = 1;
}

}  // namespace

void queue_all(const Admitted& admitted) {
  for (void* const held : admitted) {
    auto* const task = static_cast<starpu_task*>(held);
    (*share_of(task->sched_ctx))->enqueue_held(task);
  }
}

starpu_sched_policy* starpu_policy() {
  // Else only fields that every StarPU from 1.3 on has: one source serves all.
  static starpu_sched_policy policy = [] {
    starpu_sched_policy p{};
    p.policy_name = "espalier";
    p.policy_description = "task trees inside a memory bound; otherwise by priority";
    p.worker_type = STARPU_WORKER_LIST;
    p.init_sched = init;
    p.deinit_sched = deinit;
    p.add_workers = add_workers;
    p.submit_hook = submit_hook;
    p.push_task = push_task;
    p.push_task_notify = push_task_notify;
    p.do_schedule = do_schedule;
    p.pop_task = pop_task;
    p.pre_exec_hook = pre_exec_hook;
    p.post_exec_hook = post_exec_hook;
    claim_prefetching(p);
    return p;
  }();
  return &policy;
}

std::shared_ptr<Scheduler> Scheduler::running_in(unsigned context) {
  if (starpu_is_initialized() == 0 || context >= STARPU_NMAX_SCHED_CTXS) return nullptr;
  if (!is_ours(context)) return nullptr;
  const Share* const share = share_of(context);
  return share != nullptr ? *share : nullptr;
}

}  // namespace espalier::policy
