// What a session says of itself at its end.

#include <errno.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>

#include "espalier/machine/process_memory.h"
#include "policy/starpu/clock.h"
#include "policy/starpu/session.h"
#include "policy/starpu/spill.h"

namespace espalier::policy {

namespace {

// Messages of a few KiB, which are sent without waiting for room, can always come early.
constexpr Bytes kWorthTelling = 64 << 10;

}  // namespace

RunReport Session::report() const {
  RunReport report;
  {
    const std::scoped_lock lock(jobs_mutex_);
    report = jobs_;
  }
  report.program = program_invocation_short_name;
  report.policy_version = ESPALIER_VERSION;
  int major = 0, minor = 0, release = 0;
  starpu_get_version(&major, &minor, &release);
  report.starpu_version = fmt::format("{}.{}.{}", major, minor, release);
  report.mpi_rank = mpi_rank(process_environment);
  report.vm_rss_at_start = rss_at_start_;
  report.vm_hwm = process_memory().vm_hwm;
  report.throttled_seconds = throttle_.waited();
  report.longest_gap_seconds = gap_.longest(now(), throttle_.pending() > 0);
  report.workers = static_cast<std::int64_t>(tallies_.size());
  report.elapsed_seconds = now() - start_;
  for (const Tally& tally : tallies_) {
    report.tasks += tally.tasks;
    report.busy_seconds += tally.busy;
  }
  report.received_messages = received_;
  report.received_bytes = received_bytes_;
  report.idle_seconds =
      report.elapsed_seconds * static_cast<Seconds>(report.workers) - report.busy_seconds;
  if (gate_) add_gate(report);
  return report;
}

// What was seen and could not be held.
void Session::add_outside(RunReport& report, const SubmissionGateReport& gate) const {
  if (gate.extra_peak > 0)
    report.outside.push_back({"blocks of no known datum", 0, gate.extra_peak});
  if (const std::string other = gate_->other_policy(); !other.empty()) {
    report.outside.push_back(
        {"blocks that nothing held back: a context has the policy " + other,
         gate.outside_blocks, 0});
  } else if (gate.outside_peak > 0 && bound_kept(report) == false) {
    report.outside.push_back({"blocks allocated for no task: acquisitions, partitions",
                              gate.outside_blocks, gate.outside_peak});
  }
  if (gate.message_peak > kWorthTelling)
    report.outside.push_back({"messages at a time that came early or are packed",
                              gate.messages_peak, gate.message_peak});
  if (gate_->bypassed() > 0)
    report.outside.push_back(
        {"tasks on a worker of their own choice", gate_->bypassed(), 0});
  if (jobs_.jobs > 0)
    report.outside.push_back({"declared trees, with bounds of their own", jobs_.jobs, 0});
}

// What is known of programs that declare nothing.
void Session::add_gate(RunReport& report) const {
  const SubmissionGateReport gate = gate_->report();
  const ApplicationData own = gate_->application_data();
  report.application_data = own.count();
  report.application_bytes = own.bytes();
  // Without a bound of the process the report is about the declared trees.
  if (!settings_.memory && report.jobs > 0) return;
  if (gate_->measured()) report.allocated_peak = gate.allocated_peak;
  report.gated_tasks = gate.tasks;
  // Without a bound it is of use only if all frees were seen. What tasks of contexts with
  // other policies need in order is not known.
  if ((settings_.memory || gate_->measured()) && gate_->other_policy().empty())
    report.least_bytes = std::max(gate.least, gate_->needed_to_overtake());
  if (!settings_.memory) return;
  report.bound = settings_.memory;
  report.booked_peak = std::max(report.booked_peak, gate.booked_peak);
  report.over_bound_bytes = std::max<Bytes>(0, gate.over_bound);
  report.overruns += gate.underestimates;
  report.overrun_bytes = std::max(report.overrun_bytes, gate.underestimated_bytes);
  report.unsafe_admissions = gate.unproven;
  report.late_frees = gate_->late_frees();
  report.held_tasks += gate.held_tasks;
  report.held_seconds += gate.held_time;
  add_outside(report, gate);
  if (settings_.on_overflow != Overflow::kDisk) return;
  const SpillFigures spilled = spill_figures();
  report.spill = RunReport::Spill{spilled.directory, spilled.written, spilled.read,
                                  spilled.writes, spilled.reads};
}

void Session::write(bool stopped) const {
  if (!settings_.report.empty()) {
    RunReport last = report();
    last.stopped = stopped;
    write_report(last, settings_.report);
  }
  if (!trace_) return;
  try {
    trace_->write(settings_.trace, settings_.memory,
                  mpi_rank(process_environment).value_or(0));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "espalier: %s\n", e.what());
  }
}

}  // namespace espalier::policy
