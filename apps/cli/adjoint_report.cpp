#include "cli/adjoint_report.h"
#include "cli/limits_note.h"

#include <fmt/format.h>

#include <algorithm>

#include "espalier/model/exact_size.h"

namespace espalier::cli {
namespace {

using training::AdjointJob;

void report_problem(Report& report, const AdjointOptions& options,
                    const AdjointJob& job) {
  report.text("model", "model", options.model);
  report.text("grid", "grid", options.grid);
  report.count("steps", "time steps", options.steps);
  report.text("scheduler", "scheduler", options.job.runtime.scheduler);
  report.count("workers", "workers", options.job.runtime.workers);
  report.count("parts", "parts of a state", std::ssize(job.budget().chain.parts));
  report.bytes("state_bytes", "a state", job.budget().chain.state_bytes());
}

// Of all processes.
Bytes largest_peak(const AdjointRun& run) {
  Bytes largest = run.result.peak_resident;
  for (const Bytes peak : run.process_peaks) largest = std::max(largest, peak);
  return largest;
}

std::string_view proof(const CheckpointSchedule& schedule) {
  return name(schedule.proof);
}

void report_schedule(Report& report, const AdjointOptions& options, const AdjointJob& job,
                     const AdjointRun& run) {
  const training::ChainReport& done = run.result.run;
  report.heading("Schedule");
  report.count("slots", "states in memory", job.limits().memory_slots);
  if (!run.process_peaks.empty())
    report.count("remote_slots", "states at the second process",
                 job.limits().remote_slots);
  if (options.on_disk())
    report.count("disk_slots", "states on disk", job.limits().disk_slots);
  report.text("proved", "proved", proof(job.schedule()));
  report.count("planned_steps", "forward steps, planned", job.schedule().advances);
  report.count("executed_steps", "  executed", done.advances);
  report.count("backward_steps", "backward steps", done.reverses);
  report.ratio("recomputation_ratio", "forward steps a time step",
               static_cast<double>(done.advances) / static_cast<double>(options.steps));
  if (run.sounding_steps > 0)
    report.count("sounding_steps", "forward steps to sound the costs",
                 run.sounding_steps);
  report.count("stores", "stored in memory", done.stores);
  if (!run.process_peaks.empty()) {
    report.count("remote_stores", "sent to the second process", done.remote_stores);
    report.count("remote_restores", "got back from it", done.remote_restores);
  }
  if (!options.on_disk()) return;
  report.count("disk_stores", "written to disk", done.disk_stores);
  report.count("disk_restores", "read from disk", done.disk_restores);
}

void report_memory(Report& report, const AdjointOptions& options, const AdjointJob& job,
                   const AdjointRun& run) {
  const training::ChainBudget& budget = job.budget();
  report.heading("Memory");
  report.bytes("least_bytes",
               options.on_disk() ? "least bound in memory" : "least bound that suffices",
               budget.least(false));
  if (options.on_disk())
    report.bytes("out_of_core_least_bytes", "least bound out of core",
                 budget.least(true));
  if (run.bound) report.bytes("bound_bytes", "bound on the process", *run.bound);
  report.bytes("peak_rss_bytes", "peak of the process (VmHWM)", run.result.peak_resident);
  report.bytes("baseline_rss_bytes", "  resident before the first step",
               budget.account.baseline);
  report.bytes("states_bytes", "  buffers for states",
               training::memory_of(budget.chain, job.limits()));
  report.bytes("beside_bytes", "  adjoint and working memory", budget.beside);
  report.bytes("reserve_bytes", "  reserve", budget.account.reserve);
  if (!run.process_peaks.empty())
    report.bytes("process_peak_rss_bytes", "peak of each process", run.process_peaks);
  if (run.bound) report.flag("bound_kept", "bound kept", largest_peak(run) <= *run.bound);
  if (!options.on_disk()) return;
  report.bytes("disk_file_bytes", "file out of core", job.disk_bytes());
  report.bytes("bytes_written", "  written", run.result.run.bytes_written);
  report.bytes("bytes_read", "  read", run.result.run.bytes_read);
}

}  // namespace

ExitStatus report_run(const AdjointOptions& options, const AdjointJob& job,
                      const AdjointRun& run) {
  Report report;
  report_problem(report, options, job);
  report_schedule(report, options, job, run);
  report_memory(report, options, job, run);
  report.heading("Time");
  report.seconds("prepare_seconds", "prepare", run.prepare_seconds);
  report.seconds("plan_seconds", "plan", run.plan_seconds);
  report.seconds("adjoint_seconds", "forwards and backwards", run.result.run.seconds);
  report.heading("Result");
  report.number("misfit", "misfit", run.result.misfit);
  report.number("initial_gradient_norm", "gradient by the initial state",
                run.result.initial_norm);
  report.number("parameter_gradient_norm", "gradient by the parameter",
                run.result.parameter_norm);
  report.text("gradient_checksum", "checksum of both",
              fmt::format("{:016x}", run.result.checksum));
  report.print(options.json);
  const Bytes peak = largest_peak(run);
  if (!run.bound || peak <= *run.bound) return kDone;
  note(fmt::format("the peak {} is above the bound {}", format_size(peak),
                   format_size(*run.bound)));
  return kNo;
}

Ending report_infeasible(const AdjointOptions& options, const AdjointJob& job,
                         const Infeasible& answer, bool alone) {
  Report report;
  report_problem(report, options, job);
  std::string more;
  if (!options.on_disk() && !options.job.wish.memory_slots && alone) {
    const training::ChainBudget& budget = job.budget();
    const Bytes least = budget.least(true);
    const Bytes file =
        checked_mul(training::useful_slots(budget.chain), budget.chain.state_bytes());
    report.bytes("out_of_core_least_bytes", "", least);
    report.bytes("disk_file_bytes", "", file);
    more = fmt::format("; with --out-of-core DIR {} suffices, and {} on disk",
                       size_with_bytes(least), format_size(file));
  }
  more = report_source(report, options.memory) + more;
  print_infeasible(std::move(report), answer, options.json, more);
  return {kNo, raise_memory(options.memory, answer.least_bytes)};
}

}  // namespace espalier::cli
