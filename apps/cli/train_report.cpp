#include "cli/train_report.h"
#include "cli/limits_note.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <numeric>
#include <vector>

#include "cli/output.h"
#include "cli/train_input.h"

namespace espalier::cli {
namespace {

using training::TrainJob;

void report_problem(Report& report, const TrainCommand& command, const TrainJob& job) {
  report.text("model", "model", network_title(command));
  report.text("training", "training", name(command.optimiser));
  report.count("parameters", "parameters", job.training().parameters);
  report.count("operators", "operators of a step",
               static_cast<std::int64_t>(job.training().graph.size()));
  report.count("steps", "steps", command.job.steps);
  report.text("scheduler", "scheduler", command.job.runtime.scheduler);
  report.count("workers", "workers", command.job.runtime.workers);
  report.count("threads", "threads of each", command.job.threads);
}

void report_plan(Report& report, const TrainCommand& command, const TrainJob& job) {
  const Arrangement& plan = job.arrangement();
  report.heading("Plan");
  report.flag("planned", "one arena", command.job.planned);
  report.bytes("planned_bytes", "arena", job.arena_bytes());
  report.bytes("order_peak_bytes", "  peak of the order", plan.order.least_bytes);
  report.bytes("lower_bound_bytes", "  no order needs less", plan.lower_bound_bytes());
  report.flag("proved", "  proved to be the least", plan.proved());
  report.bytes("parameter_bytes", "  parameters", job.training().parameter_bytes);
  report.bytes("state_bytes", "  state of the optimiser", job.training().state_bytes);
}

}  // namespace

std::string_view name(Optimiser optimiser) {
  switch (optimiser) {
    case Optimiser::kMomentum:
      return "momentum";
    case Optimiser::kAdam:
      return "adam";
    case Optimiser::kSgd:
      break;
  }
  return "sgd";
}

std::string StepsReached::text(std::string_view how) const {
  if (done < 0) return fmt::format("train {}: {} before the first step", model, how);
  return fmt::format("train {}: {} after {} of {} steps", model, how, done.load(), steps);
}

ExitStatus end_interrupted(const StepsReached& reached) {
  note(reached.text("interrupted"));
  std::raise(SIGINT);
  return kInternal;
}

ExitStatus report_run(const TrainCommand& command, const TrainJob& job,
                      const TrainRun& run) {
  const training::TrainResult& result = run.result;
  Report report;
  report_problem(report, command, job);
  report.object("not_trained", run.not_trained);
  report_plan(report, command, job);
  report.count("recomputed_operators", "  operators that run again",
               static_cast<std::int64_t>(run.recomputed_operators));
  report.heading("Memory");
  if (command.job.planned)
    report.bytes("arena_peak_bytes", "peak of the arena", result.arena_peak);
  report.bytes("least_bytes", "least bound that suffices", job.least());
  if (run.bound) report.bytes("bound_bytes", "bound on the process", *run.bound);
  report.bytes("peak_rss_bytes", "peak of the process (VmHWM)", result.peak_resident);
  report.bytes("baseline_rss_bytes", "  resident before the first step",
               job.account().baseline);
  report.bytes("reserve_bytes", "  reserve", job.account().reserve);
  const bool kept = !run.bound || result.peak_resident <= *run.bound;
  if (run.bound) report.flag("bound_kept", "bound kept", kept);
  report.heading("Time");
  report.seconds("prepare_seconds", "prepare", run.prepare_seconds);
  report.seconds("plan_seconds", "plan", run.plan_seconds);
  report.numbers("seconds_by_step", "", result.step_seconds);
  report.numbers("processor_seconds_by_step", "", result.step_processor_seconds);
  auto seconds = result.step_seconds;
  report.seconds("train_seconds", "train",
                 std::accumulate(seconds.begin(), seconds.end(), 0.0));
  const auto middle = seconds.begin() + std::ssize(seconds) / 2;
  std::nth_element(seconds.begin(), middle, seconds.end());
  report.seconds("step_seconds", "a step (median)", *middle);
  report.heading("Result");
  report.numbers("losses", "",
                 std::vector<double>(result.losses.begin(), result.losses.end()));
  report.number("first_loss", "first loss", static_cast<double>(result.losses.front()));
  report.number("last_loss", "last loss", static_cast<double>(result.losses.back()));
  report.print(command.json);
  if (!kept)
    note(fmt::format("the peak {} is above the bound {}",
                     format_size(result.peak_resident), format_size(*run.bound)));
  return kept ? kDone : kNo;
}

Ending report_infeasible(const TrainCommand& command, const TrainJob& job,
                         const Infeasible& answer) {
  Report report;
  report_problem(report, command, job);
  report_plan(report, command, job);
  const std::string more = report_source(report, command.memory);
  print_infeasible(std::move(report), answer, command.json, more);
  return {kNo, raise_memory(command.memory, answer.least_bytes)};
}

}  // namespace espalier::cli
