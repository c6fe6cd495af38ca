#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "cli/limits_note.h"
#include "cli/train_input.h"
#include "cli/train_parallel.h"

namespace espalier::cli {
namespace {

void report_problem(Report& report, const TrainCommand& command,
                    const training::SharedStep& shared) {
  report.text("model", "model", network_title(command));
  report.text("training", "training", name(command.optimiser));
  report.count("steps", "steps", command.job.steps);
  report.count("processes", "processes", shared.processes());
  report.count("pipeline", "  stages of the pipeline", shared.devices);
  report.count("data", "  data parallel", shared.ranks);
  report.count("tensor", "  tensor parallel", shared.tensor);
  report.count("zero", "  stage of ZeRO", static_cast<std::int64_t>(shared.zero));
  report.text("schedule", "schedule", describe(command.form));
  report.count("micro_batches", "micro-batches of a rank", shared.micro_batches);
  report.count("workers", "workers", command.job.runtime.workers);
  report.count("threads", "threads of each", command.job.threads);
}

void add_seconds(Report& report, const char* key, const char* label,
                 const std::vector<std::int64_t>& nanoseconds) {
  std::vector<double> seconds;
  for (const std::int64_t each : nanoseconds)
    seconds.push_back(static_cast<double>(each) * 1e-9);
  report.numbers(key, label, seconds);
}

void report_schedule(Report& report, const SharedRun& run) {
  report.text("schedule_origin", "  found by", run.schedule.origin);
  const auto length = static_cast<double>(run.schedule.makespan);
  report.number("schedule_gap", "  longer than its bound by",
                length / static_cast<double>(run.schedule.lower_bound) - 1);
}

void report_memory(Report& report, const SharedRun& run) {
  report.heading("Memory of each process");
  report.bytes("process_parameter_bytes", "parameters", run.parameters);
  report.bytes("process_gradient_bytes", "sums of gradients", run.gradients);
  report.bytes("process_state_bytes", "states of the optimiser", run.states);
  report.bytes("process_planned_bytes", "arena", run.planned);
  report.bytes("process_arena_peak_bytes", "  its peak", run.arena_peak);
  report.bytes("process_least_bytes", "least bound that suffices", run.least);
  if (run.bounded) report.bytes("process_bound_bytes", "bound", run.bound);
  report.bytes("process_peak_rss_bytes", "peak (VmHWM)", run.peak);
  report.bytes("process_baseline_rss_bytes", "  resident before the first step",
               run.baseline);
  report.numbers("recomputed", "forwards that run again, by chunk", run.recomputed);
}

void report_time(Report& report, const SharedRun& run) {
  report.heading("Time");
  report.seconds("prepare_seconds", "prepare", run.prepare_seconds);
  report.seconds("plan_seconds", "plan", run.plan_seconds);
  auto seconds = run.result.step_seconds;
  report.seconds("train_seconds", "train",
                 std::accumulate(seconds.begin(), seconds.end(), 0.0));
  const auto middle = seconds.begin() + std::ssize(seconds) / 2;
  std::nth_element(seconds.begin(), middle, seconds.end());
  report.seconds("step_seconds", "a step (median)", *middle);
  report.seconds("fastest_step_seconds", "the fastest step",
                 *std::ranges::min_element(run.result.step_seconds));
  add_seconds(report, "process_forward_seconds", "F of a micro-batch", run.forward);
  add_seconds(report, "process_backward_seconds", "B of a micro-batch", run.backward);
  add_seconds(report, "process_weight_seconds", "W of a micro-batch", run.weight);
  add_seconds(report, "process_beside_seconds", "sums and messages of one", run.beside);
  add_seconds(report, "process_update_seconds", "updates of a step", run.update);
  add_seconds(report, "process_other_seconds", "data, submission of a step", run.other);
}

}  // namespace

ExitStatus report_shared(const TrainCommand& command, const SharedRun& run) {
  Report report;
  report_problem(report, command, run.shared);
  report.object("not_trained", run.not_trained);
  if (!command.form.scheme) report_schedule(report, run);
  if (run.shared.tensor > 1) {
    report.count("linear_layers", "linear layers", run.products);
    report.count("divided_layers", "  of them divided", run.divided_products);
  }
  report_memory(report, run);
  bool kept = true;
  for (std::size_t p = 0; p < run.peak.size() && run.bounded; ++p)
    kept = kept && run.peak[p] <= run.bound[p];
  if (run.bounded) report.flag("bound_kept", "every bound kept", kept);
  report_time(report, run);
  report.heading("Result");
  const std::vector<float>& losses = run.result.losses;
  report.numbers("losses", "", std::vector<double>(losses.begin(), losses.end()));
  report.number("first_loss", "first loss", static_cast<double>(losses.front()));
  report.number("last_loss", "last loss", static_cast<double>(losses.back()));
  report.print(command.json);
  if (!kept) note("the peak of a process is above its bound");
  return kept ? kDone : kNo;
}

Ending report_shared_infeasible(const TrainCommand& command,
                                const training::SharedStep& shared,
                                const Infeasible& answer, std::int32_t process) {
  Report report;
  report_problem(report, command, shared);
  report.count("infeasible_process", "process", process);
  std::string more = report_source(report, command.memory);
  if (shared.processes() > 1) more = fmt::format(" (process {}){}", process, more);
  print_infeasible(std::move(report), answer, command.json, more);
  return {kNo, raise_memory(command.memory, answer.least_bytes)};
}

}  // namespace espalier::cli
