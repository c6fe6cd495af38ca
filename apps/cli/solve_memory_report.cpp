#include "cli/solve_memory_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "solver/ordering/ordering.h"

namespace espalier::cli {

using solver::Solver;

namespace {

void report_processes(Report& report, const ProcessFigures& figures) {
  const auto count = static_cast<double>(figures.peak.size());
  const auto efficiency = [&](std::span<const Bytes> peaks) {
    const Bytes largest = std::ranges::max(peaks);
    return largest == 0 ? 1
                        : static_cast<double>(figures.sequential_least) /
                              (count * static_cast<double>(largest));
  };
  report.count("processes", "processes", std::ssize(figures.peak));
  report.count("shared_nodes", "nodes that several share", figures.shared_nodes);
  if (figures.grid_nodes > 0)
    report.count("grid_nodes", "  in tiles over grids", figures.grid_nodes);
  report.bytes("process_peak_rss_bytes", "peak of each (VmHWM)", figures.peak);
  report.bytes("process_baseline_rss_bytes", "  resident before the first front",
               figures.baseline);
  report.bytes("process_factor_rss_bytes", "  growth while factorising", figures.growth);
  report.bytes("process_predicted_peak_bytes", "  fronts: predicted least",
               figures.predicted);
  report.bytes("process_booked_peak_bytes", "  fronts: most that was booked",
               figures.booked);
  report.bytes("process_sent_bytes", "  sent while factorising", figures.sent);
  report.count("messages", "messages", figures.messages);
  report.bytes("sequential_least_bytes", "fronts in one process: least",
               figures.sequential_least);
  report.ratio("memory_efficiency", "memory efficiency, as predicted",
               efficiency(figures.predicted));
  report.ratio("measured_memory_efficiency", "memory efficiency, by growth",
               efficiency(figures.growth));
}

}  // namespace

Bytes SolveRun::peak_resident(const Solver& solver) const {
  if (processes) return std::ranges::max(processes->peak);
  return peak.value_or(solver.peak_resident());
}

void report_orders(Report& report, const Solver& solver) {
  std::string tried;
  for (const solver::TriedOrdering& each : solver.orderings_tried())
    tried += fmt::format("{}{} {}", tried.empty() ? "" : ", ", solver::name(each.kind),
                         format_size(each.least));
  if (!tried.empty()) report.text("ordering_least", "    for its least bound", tried);
}

void report_memory(Report& report, const SolveOptions& options, const Solver& solver,
                   const SolveRun& run) {
  const bool out_of_core = !options.solver.out_of_core.empty();
  report.heading("Memory");
  report.bytes("least_bytes",
               out_of_core ? "least bound in core" : "least bound that suffices",
               solver.least());
  if (out_of_core)
    report.bytes("out_of_core_least_bytes", "least bound out of core",
                 solver.least_out_of_core());
  if (run.bound) report.bytes("bound_bytes", "bound on the process", *run.bound);
  if (!options.memory.source.empty())
    report.text("bound_source", "which is what is left of", options.memory.source);
  if (run.processes) report_processes(report, *run.processes);
  const bool several = run.processes.has_value();
  report.bytes("peak_rss_bytes",
               several ? "largest peak of a process" : "peak of the process (VmHWM)",
               run.peak_resident(solver));
  report.bytes("baseline_rss_bytes", several ? "" : "  resident before the first front",
               solver.memory().baseline);
  report.bytes(
      "factor_rss_bytes", several ? "" : "  growth while factorising",
      several ? std::ranges::max(run.processes->growth) : solver.factor_growth());
  report.bytes(
      "booked_peak_bytes", several ? "" : "fronts: most that was booked",
      several ? std::ranges::max(run.processes->booked) : run.factor.booked_peak);
  report.bytes("peak_bytes", several ? "" : "fronts: most that was allocated",
               run.factor.allocated_peak);
  report.bytes("analysis_peak_bytes", "", solver.memory().analysis_peak);
  report.bytes("reserve_bytes", "", solver.memory().reserve);
  if (run.bound)
    report.flag("bound_kept", "bound kept", run.peak_resident(solver) <= *run.bound);
  if (!out_of_core) return;
  if (several) {
    report.bytes("process_spill_file_bytes", "file of each out of core",
                 run.processes->spill_file);
    report.bytes("process_bytes_written", "  written", run.processes->written);
    report.bytes("process_bytes_read", "  read", run.processes->read);
    return;
  }
  const solver::SpillFile::Counters io = solver.spilled();
  report.bytes("spill_file_bytes", "file out of core", solver.bytes_to_spill());
  report.bytes("bytes_written", "  written", io.bytes_written);
  report.bytes("bytes_read", "  read", io.bytes_read);
}

void write_memory_page(const SolveOptions& options, const Solver& solver,
                       const SolveRun& run) {
  if (options.page.empty()) return;
  write_explained(
      options.page, options.input_name(),
      {{"order of the matrix", fmt::format("{}", solver.analysis().symbolic.size)},
       {"kind", std::string(name(solver.kind()))},
       {"order", std::string(name(options.solver.order))},
       {"workers", fmt::format("{}", options.solver.workers)}},
      run.explained);
}

}  // namespace espalier::cli
