#include "policy/starpu/session.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "espalier/machine/process_memory.h"
#include "espalier/model/error.h"
#include "policy/core/one_writer.h"
#include "policy/starpu/clock.h"
#include "policy/starpu/handles.h"
#include "policy/starpu/spill.h"

namespace espalier::policy {

namespace {

// Contexts come and go; what they share has one owner among them. A global because
// StarPU gives a policy no other place that all its contexts can reach.
std::mutex session_mutex;
std::weak_ptr<Session> current_session;
std::optional<RunReport> last;  // of a run that has ended
std::mutex last_mutex;

// StarPU's own limit makes it evict; it is read before: see preload.cpp.
void prepare_disk(const Settings& settings) {
  if (*settings.memory < Bytes{1} << 20)
    throw InvalidInput(
        fmt::format("ESPALIER_ON_OVERFLOW=disk needs a bound of at least 1 MiB, since "
                    "StarPU counts its "
                    "own limit in MiB; ESPALIER_MEMORY is {}",
                    format_size(*settings.memory)));
  const starpu_ssize_t limit = starpu_memory_get_total(STARPU_MAIN_RAM);
  if (limit <= 0 || limit > *settings.memory)
    throw InvalidInput(fmt::format(
        "ESPALIER_ON_OVERFLOW=disk needs StarPU's own limit: preload libespalier.so, or "
        "set STARPU_LIMIT_CPU_MEM={} (MiB)",
        *settings.memory >> 20));
  prepare_spilling(settings.spill_directory);
}

// Enough to keep workers busy, and little enough for what is kept of the tasks to stay in
// cache: ten times as many cost half as much again for each small task.
std::size_t window(const Settings& settings) {
  if (settings.window || !settings.memory) return settings.window.value_or(0);
  return std::max<std::size_t>(1000, std::size_t{500} * starpu_worker_get_count());
}

}  // namespace

std::shared_ptr<Session> Session::present() {
  const std::scoped_lock lock(session_mutex);
  return current_session.lock();
}

std::shared_ptr<Session> Session::join() {
  const std::scoped_lock lock(session_mutex);
  if (std::shared_ptr<Session> run = current_session.lock()) return run;
  try {
    Settings settings = read_settings(process_environment);
    const bool asked = settings.memory || !settings.report.empty() ||
                       !settings.trace.empty() || settings.window;
    if (!asked) return nullptr;
    // Before the run, not after it.
    if (!settings.report.empty() && settings.report != "-")
      check_writable(settings.report);
    if (!settings.trace.empty()) check_writable(settings.trace);
    if (settings.memory && settings.on_overflow == Overflow::kDisk)
      prepare_disk(settings);
    // StarPU-MPI keeps every copy that it received until the program says otherwise.
    if (settings.memory) setenv("STARPU_MPI_CACHE", "0", 0);
    auto run = std::make_shared<Session>(std::move(settings));
    current_session = run;
    return run;
  } catch (const std::exception& e) {
    // To run without the bound that was asked for would be worse.
    std::fprintf(stderr, "espalier: %s\n", e.what());
    std::_Exit(2);
  }
}

Session::Session(Settings settings)
    : settings_(std::move(settings)),
      timed_(!settings_.report.empty() || !settings_.trace.empty()),
      start_(now()),
      rss_at_start_(process_memory().vm_rss),
      throttle_(window(settings_)),
      tallies_(starpu_worker_get_count()) {
  for (unsigned worker = 0; worker < tallies_.size(); ++worker)
    tallies_[worker].one_at_a_time =
        starpu_worker_get_type(static_cast<int>(worker)) == STARPU_CPU_WORKER;
  if (!settings_.trace.empty()) {
    trace_.emplace(tallies_.size());
    for (unsigned worker = 0; worker < tallies_.size(); ++worker) {
      char name[64];
      starpu_worker_get_name(static_cast<int>(worker), name, sizeof name);
      trace_->name_worker(worker, name);
    }
  }
  if (settings_.memory || !settings_.report.empty())
    gate_.emplace(settings_, starpu_worker_get_count(), throttle_,
                  trace_ ? &*trace_ : nullptr);
}

Session::~Session() {
  write(false);
  const std::scoped_lock lock(last_mutex);
  last = report();
}

std::optional<RunReport> Session::latest_report() {
  if (const std::shared_ptr<Session> run = present()) return run->report();
  const std::scoped_lock lock(last_mutex);
  return last;
}

bool Session::report_is_asked_for() {
  const char* const report = process_environment("ESPALIER_REPORT");
  return report != nullptr && *report != '\0';
}

void Session::submitted(starpu_task& task, bool declared) {
  if (gate_ && !declared) {
    try {
      gate_->submitted(task);
    } catch (const BoundBroken& why) {
      stop(why);
    }
  }
  if (!is_executed(task)) return;
#ifndef STARPU_SIMGRID
  if (task.type == STARPU_TASK_TYPE_NORMAL && starpu_worker_get_id() < 0 &&
      !in_message_thread())
    throttle_.wait();
#endif
  if (timed_ && throttle_.pending() == 0) gap_.begins(now());
  throttle_.submitted();
}

void Session::asks(const starpu_task& task) {
  if (trace_) held_.asks(&task, now());
}

void Session::passes(const starpu_task& task) {
  if (trace_) held_.passes(&task);
}

void Session::placed(const starpu_task& task) {
  if (trace_) held_.goes_on(&task, now());
  throttle_.ready();
}

bool Session::ready(starpu_task& task, bool declared) {
  return !gate_ || declared || gate_->ready(task);
}

void Session::bypasses(const starpu_task& task) {
  if (gate_) gate_->bypasses(task);
  throttle_.ready();
  throttle_.running();
}

void Session::taken(const starpu_task& task) {
  throttle_.running();
  if (gate_) gate_->taken(task);
}

Admitted Session::starts(const starpu_task& task) {
  const int worker = starpu_worker_get_id();
  if (worker < 0) {
    if (gate_) gate_->fetched(task);
    return {};
  }
  Tally& tally = tallies_[static_cast<std::size_t>(worker)];
  Admitted admitted = end_unseen(tally);
  if (gate_) gate_->fetched(task);
  if (timed_) {
    tally.start = now();
    gap_.starts(tally.start);
  }
  if (tally.one_at_a_time) tally.running = &task;
  return admitted;
}

Admitted Session::poll() {
  Admitted admitted;
  if (const int worker = starpu_worker_get_id(); worker >= 0)
    admitted = end_unseen(tallies_[static_cast<std::size_t>(worker)]);
  if (!gate_) return admitted;
  if (admitted.empty()) return gate_->poll();
  const Admitted more = gate_->poll();
  admitted.insert(admitted.end(), more.begin(), more.end());
  return admitted;
}

std::optional<Admitted> Session::wait_for_admitted() {
  if (!gate_) return std::nullopt;
  try {
    return gate_->wait_for_admitted();
  } catch (const BoundBroken& why) {
    stop(why);
  }
}

void Session::end_waiting() {
  if (gate_) gate_->end_waiting();
}

// StarPU does not tell a policy of the end of tasks of its own that it runs on workers:
// reductions, copies. When the worker comes for the next task, this one has ended.
Admitted Session::end_unseen(Tally& tally) {
  const starpu_task* const task = tally.running;
  if (task == nullptr) return {};
  tally.running = nullptr;
  add<std::int64_t>(tally.tasks, 1);
  if (timed_) {
    const Seconds end = now();
    add<Seconds>(tally.busy, end - tally.start);
    gap_.stops(end);
  }
  throttle_.ended();
  return gate_ ? gate_->ended_unseen(task) : Admitted();
}

Admitted Session::ended(const starpu_task& task, bool declared) {
  if (const int worker = starpu_worker_get_id(); worker >= 0) {
    Tally& tally = tallies_[static_cast<std::size_t>(worker)];
    tally.running = nullptr;
    add<std::int64_t>(tally.tasks, 1);
    const Seconds end = timed_ ? now() : 0;
    if (timed_) {
      add<Seconds>(tally.busy, end - tally.start);
      gap_.stops(end);
    }
    if (trace_)
      trace_->task(static_cast<std::size_t>(worker), name_of(task), tally.start, end,
                   held_.take(&task));
  }
  throttle_.ended();
  return gate_ && !declared ? gate_->ended(task) : Admitted();
}

void Session::application_waits() {
  if (gate_) gate_->application_waits();
}

void Session::message_begins(starpu_data_handle_t handle, bool receives) {
  if (receives) {
    ++received_;
    received_bytes_ += static_cast<Bytes>(starpu_data_get_size(handle));
  }
  if (bounded()) gate_->message_begins(handle, receives);
}

void Session::message_ended(starpu_data_handle_t handle) {
  if (bounded()) gate_->message_ended(handle);
}

void Session::end_pending_frees() {
  if (gate_) gate_->end_pending_frees();
}

void Session::job_ended(const TreeGateReport& job, Bytes bound) {
  const std::scoped_lock lock(jobs_mutex_);
  ++jobs_.jobs;
  jobs_.bound = std::max(jobs_.bound.value_or(0), bound);
  jobs_.booked_peak = std::max(jobs_.booked_peak, job.booked_peak);
  if (job.allocated_peak > 0)
    jobs_.allocated_peak = std::max(jobs_.allocated_peak.value_or(0), job.allocated_peak);
  jobs_.overruns += job.overruns;
  jobs_.overrun_bytes = std::max(jobs_.overrun_bytes, job.overrun_bytes);
  jobs_.held_tasks += job.held_tasks;
  jobs_.held_seconds += job.held_time;
}

void Session::stop(const BoundBroken& why) const {
  std::fprintf(stderr, "espalier: %s.\n", why.what());
  write(true);
  remove_spilled();
  std::abort();
}

}  // namespace espalier::policy
