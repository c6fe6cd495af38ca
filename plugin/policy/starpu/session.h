#pragma once

#include <starpu.h>

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "policy/core/held_times.h"
#include "policy/core/longest_gap.h"
#include "policy/core/report.h"
#include "policy/core/settings.h"
#include "policy/core/throttle.h"
#include "policy/core/trace.h"
#include "policy/core/tree_gate.h"
#include "policy/starpu/handle_gate.h"

namespace espalier::policy {

/// What all contexts of one start of StarPU share, when the environment asks for any of
/// it: the bound on the process, the throttle, the report and the trace. From the first
/// context's start to the last one's end, when report and trace are written.
///
/// @par Test  Run.*
class Session {
 public:
  /// The present one, or a new one; nullptr when the environment asks for nothing. Bad
  /// settings stop the process with a message and status 2.
  [[nodiscard]] static std::shared_ptr<Session> join();

  /// The present one; nullptr when there is none.
  [[nodiscard]] static std::shared_ptr<Session> present();

  /// Of the present one, or of the last that ended.
  [[nodiscard]] static std::optional<RunReport> latest_report();
  /// By the environment, whether or not there is a run.
  [[nodiscard]] static bool report_is_asked_for();

  explicit Session(Settings settings);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // The hooks, in order. `declared` tasks belong to a declared tree, with a gate of its
  // own. Tasks that were held and may start now are returned, to be queued.
  void submitted(starpu_task& task, bool declared);
  [[nodiscard]] bool ready(starpu_task& task, bool declared);
  /// A gate is about to be asked for a task, and did not hold it: both for the trace.
  void asks(const starpu_task& task);
  void passes(const starpu_task& task);
  /// A task that a gate let in, or that no gate held, is queued.
  void placed(const starpu_task& task);
  void bypasses(const starpu_task& task);
  void taken(const starpu_task& task);
  [[nodiscard]] Admitted starts(const starpu_task& task);
  [[nodiscard]] Admitted ended(const starpu_task& task, bool declared);
  void application_waits();
  [[nodiscard]] RunReport report() const;
  [[nodiscard]] Admitted poll();
  /// In a thread of its own; see HandleGate.
  [[nodiscard]] std::optional<Admitted> wait_for_admitted();
  void end_waiting();

  /// Whether there is a bound for what declares nothing.
  [[nodiscard]] bool bounded() const { return settings_.memory.has_value(); }
  /// StarPU-MPI acquires the handle for a message, and gives it back.
  void message_begins(starpu_data_handle_t handle, bool receives);
  void message_ended(starpu_data_handle_t handle);
  /// HandleGate::end_pending_frees().
  void end_pending_frees();

  /// A declared tree has ended.
  void job_ended(const TreeGateReport& job, Bytes bound);

 private:
  struct alignas(64) Tally {  // of a worker, written by it alone
    std::atomic<std::int64_t> tasks = 0;
    std::atomic<Seconds> busy = 0;
    Seconds start = 0;
    bool one_at_a_time = false;            // the worker ends a task before the next
    const starpu_task* running = nullptr;  // only if so
  };
  [[nodiscard]] Admitted end_unseen(Tally& tally);
  [[noreturn]] void stop(const BoundBroken& why) const;
  void write(bool stopped) const;
  void add_gate(RunReport& report) const;
  void add_outside(RunReport& report, const SubmissionGateReport& gate) const;

  const Settings settings_;
  const bool timed_;  // somebody wants to know
  const Seconds start_;
  const std::optional<Bytes> rss_at_start_;
  Throttle throttle_;
  LongestGap gap_;  // if timed
  std::optional<Trace> trace_;
  HeldTimes held_;  // with a trace
  std::vector<Tally> tallies_;
  std::optional<HandleGate> gate_;
  std::atomic<std::int64_t> received_ = 0;  // messages
  std::atomic<Bytes> received_bytes_ = 0;
  mutable std::mutex jobs_mutex_;
  RunReport jobs_;  // what declared trees add
};

}  // namespace espalier::policy
