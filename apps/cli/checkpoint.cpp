// espalier checkpoint: which states of a chain to store, where, and when to compute them
// again, so that it can be reversed.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <optional>

#include "cli/checkpoint_answer.h"
#include "cli/checkpoint_options.h"
#include "cli/command.h"
#include "cli/naming.h"
#include "cli/output.h"
#include "espalier/checkpoint/h_revolve.h"
#include "espalier/checkpoint/online_checkpoints.h"
#include "espalier/checkpoint/rotor.h"
#include "espalier/io/checkpoint_io.h"
#include "espalier/io/text_file.h"
#include "espalier/model/validate_checkpoint.h"
#include "espalier/report/checkpoint_page.h"

namespace espalier::cli {
namespace {

constexpr std::int64_t kMostChecked = 2'000'000;  // steps: what a second allows
constexpr std::int64_t kMostDrawn = 5'000'000;

// Every schedule that is handed out has been checked, but those too long for that.
void finish(const CheckpointRequest& request, const CheckpointSchedule& schedule,
            const CheckpointAnswer& answer, std::optional<Progress>& progress) {
  if (schedule.steps <= kMostChecked) {
    progress->step("checking");
    const Violations wrong = validate_checkpoint(schedule);
    if (!wrong.empty())
      throw Error(fmt::format("the schedule is not valid: {}", wrong.front()));
  }
  if (!request.schedule.empty()) {
    progress->step("writing the schedule");
    write_file(request.schedule,
               [&](std::ostream& out) { write_schedule(out, schedule); });
  }
  if (!request.page.empty()) {
    progress->step("writing the report");
    report::write_page(request.page,
                       {&schedule, answer.input, answer.unit, answer.curve});
  }
  progress.reset();
  print_schedule(schedule, answer, request.json);
}

/// @param level  that has too few; of the disk of an online schedule, of that alone
Ending refuse(const CheckpointRequest& request, const CheckpointAnswer& answer,
              const TooFewSlots& no, const std::string& message, std::size_t level) {
  const auto reason =
      level == 0 ? Infeasible::Reason::kImpossible : Infeasible::Reason::kNoneFound;
  note(message);
  if (request.json) {
    print(dump({{"input", answer.input},
                {"feasible", false},
                {"reason", reason_text(reason)},
                {"slots", no.slots},
                {"least_slots", no.least_slots}}));
  }
  return {kNo, more_slots(request, no.least_slots - no.slots, level)};
}

/// What is read of the disk in the end is not known while it is written: a run of unknown
/// length has a state there from each period.
std::optional<TooFewSlots> too_few_on_disk(const CheckpointRequest& request,
                                           const CheckpointSchedule& schedule) {
  if (!request.online || request.levels.size() < 2) return std::nullopt;
  const TooFewSlots answer{request.levels[1].slots, schedule.levels[1].slots};
  return answer.least_slots > answer.slots ? std::optional(answer) : std::nullopt;
}

std::int64_t steps_of(const CheckpointRequest& request, const StepCosts& costs) {
  return costs.forwards.empty() ? *request.length : std::ssize(costs.forwards);
}

void check_page(const CheckpointRequest& request, std::int64_t steps) {
  if (request.page.empty() || steps <= kMostDrawn) return;
  throw Refused(fmt::format("--report: {} steps are too many to draw, at most {}", steps,
                            kMostDrawn),
                drop_option("--report"));
}

ExpectedSlots<CheckpointSchedule> plan(const CheckpointRequest& request,
                                       const std::vector<CheckpointLevel>& levels,
                                       const StepCosts& costs,
                                       const CheckpointProgress& progress) {
  const std::int64_t steps = steps_of(request, costs);
  if (request.online) return plan_online(steps, levels, costs, progress);
  if (request.read_once) return plan_read_once(steps, levels, costs, progress);
  return plan_checkpoints(steps, levels, costs, progress);
}

// States that are all alike.
Ending run_steps(const CheckpointRequest& request) {
  std::vector<CheckpointLevel> levels = request.levels;
  if (request.slots) levels = {{"ram", *request.slots}};
  bool timed = request.step || request.backward || !request.step_times.empty();
  for (const CheckpointLevel& level : levels) timed |= (level.write | level.read) != 0;
  StepCosts costs;
  costs.forward = request.step.value_or(timed ? 1'000'000'000 : 1);
  costs.backward = request.backward.value_or(0);
  CheckpointAnswer answer;
  if (request.step_times.empty()) {
    answer.input = fmt::format("{} steps", *request.length);
  } else {
    costs.forwards = read_step_times(request.step_times);
    answer.input = request.step_times;
  }
  answer.unit = timed ? 1e-9 : 1;
  check_page(request, steps_of(request, costs));
  std::optional<Progress> progress(std::in_place, "planning");
  const auto schedule =
      plan(request, levels, costs, [&](double part) { progress->update(part); });
  if (!schedule) {
    progress.reset();
    return refuse(request, answer, schedule.error(), schedule.error().message(), 0);
  }
  if (const auto no = too_few_on_disk(request, *schedule)) {
    progress.reset();
    return refuse(
        request, answer, *no,
        fmt::format("'{}' has {} slots: a run of unknown length has a state "
                    "there from each period, which are {} in {} steps",
                    request.levels[1].name, no->slots, no->least_slots, schedule->steps),
        1);
  }
  finish(request, *schedule, answer, progress);
  return kDone;
}

Bytes bound_of(const CheckpointRequest& request) {
  try {
    return parse_size(request.memory);
  } catch (const Error& error) {
    throw Refused(fmt::format("--memory: {}", error.what()),
                  set_option("--memory", "min"));
  }
}

// Stages with sizes and costs of their own.
Ending run_chain(const CheckpointRequest& request) {
  std::optional<Bytes> bound;
  const bool curve_only = request.memory == "curve";
  if (!curve_only && request.memory != "min" && !request.memory.empty())
    bound = bound_of(request);
  if (curve_only && !request.schedule.empty())
    throw Refused("--schedule needs a --memory other than curve",
                  set_option("--memory", "min"));
  const auto chain = std::make_shared<const Chain>(read_chain(request.chain));
  std::optional<Progress> progress(std::in_place, "planning");
  const auto table = std::make_shared<const RotorTable>(
      chain, [&](double part) { progress->update(part); });
  const std::vector<BudgetPoint> curve = table->curve();
  CheckpointAnswer answer;
  answer.input = request.chain;
  answer.least_bytes = curve.front().bytes;
  answer.curve = curve;
  if (curve_only && request.page.empty()) {
    progress.reset();
    print_curve(*chain, answer, request.json);
    return kDone;
  }
  const auto schedule = plan_chain(table, bound.value_or(answer.least_bytes));
  if (!schedule) {
    progress.reset();
    Report report;
    report.text("input", "input", request.chain);
    report.count("steps", "steps to reverse", chain->size());
    print_infeasible(std::move(report), schedule.error(), request.json);
    return {kNo, raise_memory(schedule.error().least_bytes)};
  }
  if (curve_only) {  // with a page: of the least bound
    report::write_page(request.page, {&*schedule, answer.input, answer.unit, curve});
    progress.reset();
    print_curve(*chain, answer, request.json);
    return kDone;
  }
  finish(request, *schedule, answer, progress);
  return kDone;
}

Ending run_checkpoint(const CheckpointRequest& request) {
  return naming(request.chain.empty() ? request.step_times : request.chain, [&] {
    return request.chain.empty() ? run_steps(request) : run_chain(request);
  });
}

}  // namespace

Command add_checkpoint(CLI::App* app) {
  auto request = std::make_shared<CheckpointRequest>();
  app->description("Plan which states of a chain to store so that it can be reversed");
  add_checkpoint_options(*app, *request);
  return {app, [request] { return run_checkpoint(*request); }, false,
          [app, request] { check(*app, *request); }};
}

}  // namespace espalier::cli
