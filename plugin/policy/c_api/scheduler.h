#pragma once

#include <starpu.h>
#include <starpu_scheduler.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "policy/c_api/session_watch.h"
#include "policy/core/job.h"
#include "policy/starpu/session.h"

namespace espalier::policy {

// StarPU workers that find nothing either poll (StarPU's default build) or sleep until
// they are woken, as they always do under SimGrid.
#if defined(STARPU_NON_BLOCKING_DRIVERS) && !defined(STARPU_SIMGRID)
inline constexpr bool kWorkersSleep = false;
#else
inline constexpr bool kWorkersSleep = true;
#endif

/// The policy in one scheduling context of StarPU: gates in front, placement behind.
///
///   push ─► gate of the task's job ─► placement ─► pop       (tasks of a declared tree)
///   push ─► gate of the session ────► placement ─► pop       (others, with a bound)
///   push ───────────────────────────► placement ─► pop       (others)
///   post_exec ─► gate ─► released tasks ─► placement
///
/// The context's policy data points at it; jobs share it, so that one which outlives its
/// context stays harmless. StarPU is never called while one of the policy's locks is
/// held.
class Scheduler : public std::enable_shared_from_this<Scheduler> {
 public:
  /// The scheduler of a context whose policy this is; nullptr for any other context, and
  /// when StarPU does not run.
  [[nodiscard]] static std::shared_ptr<Scheduler> running_in(unsigned context);

  Scheduler();

  // The hooks, as StarPU calls them.
  void submit(starpu_task* task);
  void push(starpu_task* task);
  void push_elsewhere(starpu_task* task);
  [[nodiscard]] starpu_task* pop();
  void pre_exec(const starpu_task* task);
  void post_exec(starpu_task* task);
  void do_schedule();

  /// Begins a job. @return nullptr when there are JobTable::kCapacity already
  [[nodiscard]] std::unique_ptr<Job> begin(std::shared_ptr<const Plan> plan,
                                           std::optional<Bytes> bound, unsigned context);
  void end(const Job& job);
  [[nodiscard]] Job* job_of(const starpu_task* task) const {
    return jobs_.find(task->sched_data);
  }
  /// Queues what the gate of `job` let go, and wakes workers.
  void enqueue(const Job& job, const std::vector<Released>& released);
  /// Queues a task that the gate of the session held.
  void enqueue_held(starpu_task* task) { place(task, unbound_, kUnboundRank); }

 private:
  void place(starpu_task* task, Placement::Queue& queue, std::uint32_t path);
  void requeue(starpu_task* task);
  void rest(bool idle) const;
  [[nodiscard]] bool all_can_execute(const starpu_task* task) const;
  [[nodiscard]] WorkerSet able_workers(starpu_task* task) const;
  void wake_one(const Placement::Queue& queue);

  const std::size_t workers_;  // of StarPU
  const bool one_kind_;        // all of one architecture
  Placement placement_;
  Placement::Queue& unbound_;
  JobTable jobs_;
  const std::shared_ptr<Session> session_;  // nullptr: nothing was asked for
  const std::shared_ptr<SessionWatch> watch_;
  std::vector<std::atomic<bool>> waiting_;  // by worker; only if kWorkersSleep
  const std::chrono::microseconds idle_sleep_;
};

/// Queues tasks that the session let in, each in its own context.
void queue_all(const Admitted& admitted);

/// The object that StarPU is given.
[[nodiscard]] starpu_sched_policy* starpu_policy();

}  // namespace espalier::policy
