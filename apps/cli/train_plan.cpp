// espalier train-plan: how N processes with a bound each train a model fastest; and its
// parts, a pipeline's schedules and ZeRO's stages, by themselves.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/number_option.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/report_option.h"
#include "cli/size_option.h"
#include "cli/train_plan_answer.h"
#include "cli/train_plan_layout.h"
#include "cli/train_plan_model.h"
#include "cli/train_plan_pipeline.h"
#include "cli/train_plan_zero.h"
#include "espalier/model/error.h"
#include "espalier/report/pipeline_page.h"

namespace espalier::cli {
namespace {

struct TrainPlanRequest {
  ModelRequest model;
  std::optional<std::int32_t> processes;
  std::optional<std::int64_t> batch;
  std::optional<Bytes> memory;
  std::vector<ZeroStage> zero;
  std::vector<PipelineScheme> schedules = {PipelineScheme::kOneForwardOneBackward};
  std::int64_t top = 10;
  std::string page;
  bool json = false;
};

/// What is not missing: check_complete().
TrainingQuestion question_of(const TrainPlanRequest& request) {
  TrainingQuestion question;
  question.processes = *request.processes;
  question.batch = *request.batch;
  question.bound = *request.memory;
  question.optimiser = optimiser_of(request.model);
  question.cluster = request.model.cluster;
  if (!request.zero.empty()) question.zero = request.zero;
  question.schedules = request.schedules;
  return question;
}

/// The bound that a plan needs and, where no way to share the step was left, a batch that
/// all processes can share. @param report  with or without an answer: of its question
Remedy what_fits(const TrainingModel& model, TrainPlanReport report) {
  Remedy remedy;
  report.question.progress = nullptr;
  const Bytes given = report.question.bound;
  std::optional<Bytes> bound = sufficient_bound(model, report);
  if (!bound) {
    const std::int64_t processes = report.question.processes;
    report.question.batch =
        (report.question.batch + processes - 1) / processes * processes;
    bound = sufficient_bound(model, report);
    if (!bound) return {};
    remedy = set_option("--batch", fmt::format("{}", report.question.batch));
  }
  if (*bound > given)
    remedy.edits.push_back(raise_memory(*bound, "--memory-per-process").edits.front());
  return remedy;
}

/// @throws Refused naming the first thing that is missing, with all that is
void check_complete(TrainPlanRequest request) {
  std::string message;
  Remedy remedy;
  const auto note = [&](const std::string& what, const Remedy& more) {
    if (message.empty()) message = what;
    remedy.edits.insert(remedy.edits.end(), more.edits.begin(), more.edits.end());
  };
  if (const auto mistake = mistake_of(request.model.source)) {
    note(mistake->message, mistake->remedy);
    request.model.source = mistake->instead;
  }
  if (!request.processes) {
    note("--processes is needed", set_option("--processes", "1"));
    request.processes = 1;
  }
  if (!request.batch) {
    note("--batch is needed",
         set_option("--batch", fmt::format("{}", *request.processes)));
    request.batch = *request.processes;
  }
  if (!request.memory) {
    note("--memory-per-process is needed", {});
    request.memory = 1;
  }
  if (message.empty()) return;
  TrainPlanReport report;
  report.question = question_of(request);
  note(message, what_fits(training_model(request.model), std::move(report)));
  throw Refused(message, std::move(remedy));
}

void write_page(const std::string& path, const TrainPlanReport& report,
                const StageCosts& costs) {
  const TrainingPlan& plan = report.answer.plans.front();
  const Pipeline pipeline = pipeline_of(costs, plan);
  const PipelineScheme scheme = plan.setting.pipeline == 1
                                    ? PipelineScheme::kOneForwardOneBackward
                                    : plan.setting.schedule;
  const PipelineSchedule schedule = named_pipeline(pipeline, scheme);
  PipelineRun run = *replay_pipeline(pipeline, schedule);
  report::PipelinePage page;
  page.pipeline = &pipeline;
  page.schedule = &schedule;
  page.run = &run;
  page.title = report.model;
  page.name = name(scheme);
  page.lower_bound =
      pipeline_lower_bound(pipeline, report.question.bound, PipelineObjective::kMakespan);
  page.bound = report.question.bound;
  for (std::size_t s = 0; s < plan.stages.size(); ++s)
    run.devices[s].peak_bytes = plan.stages[s].peak_bytes;
  page.facts = {
      {"setting", describe(plan.setting)},
      {"step with reduction and update", fmt::format("{:.4g} s", to_seconds(plan.step))}};
  page.tables = {{"Plans that fit, the fastest first",
                  {"setting", "recomputed", "step", "of peak rate", "memory"},
                  plan_rows(report)},
                 {"What fell out: " + rejected_text(report.answer),
                  {"setting", "why"},
                  rejected_rows(report)}};
  report::write_page(path, page);
}

Ending refuse(const TrainingModel& model, TrainPlanReport report, bool json) {
  const std::optional<Bytes> least = least_of(report.answer);
  print_training(report, json);
  note(least
           ? fmt::format("no plan found inside {} on each process; {} ({} "
                         "bytes) would do",
                         format_size(report.question.bound), format_size(*least), *least)
           : "no way to share the step among these processes: " +
                 rejected_text(report.answer));
  if (least) return {kNo, raise_memory(*least, "--memory-per-process")};
  return {kNo, what_fits(model, std::move(report))};
}

Ending run_train_plan(const TrainPlanRequest& request) {
  TrainPlanReport report;
  const TrainingModel model = training_model(request.model);
  report.model = model.name;
  report.parameters = model.parameters;
  report.shown = request.top;
  report.question = question_of(request);
  std::optional<Progress> progress(std::in_place, "planning");
  const Interrupt interrupt;
  report.question.progress = [&](double part) {
    progress->update(part);
    return !interrupt.came();
  };
  report.answer = plan_training(model, report.question);
  progress->step("checking");
  choose_what_can_be_laid_out(model, report);
  if (report.answer.plans.empty()) {
    lay_out_what_fell_out(model, report);
    progress.reset();
    return refuse(model, std::move(report), request.json);
  }
  if (!request.page.empty()) {
    const PlannedCosts planned(model, report.question,
                               report.answer.plans.front().setting);
    write_page(request.page, report, planned.costs);
  }
  progress.reset();
  print_training(report, request.json);
  return kDone;
}

void add_question(CLI::App& app, TrainPlanRequest& request) {
  whole(app.add_option("--processes", request.processes, "Processes, one device each")
            ->type_name("N"),
        1, 1 << 20);
  whole(app.add_option("--batch", request.batch,
                       "Samples of a step, all processes together")
            ->type_name("B"),
        1, 1 << 24);
  add_size(app, "--memory-per-process", "Bound of each process",
           [&request](Bytes bound) { request.memory = bound; });
  whole(app.add_option_function<std::vector<int>>(
               "--zero",
               [&request](const std::vector<int>& stages) {
                 request.zero.clear();
                 for (const int stage : stages)
                   request.zero.push_back(static_cast<ZeroStage>(stage));
               },
               "Stages of ZeRO to look at; default: 0,1,2,3")
            ->delimiter(','),
        0, 3)
      ->type_name("0|1|2|3");
  add_choice(app, "--schedule", request.schedules,
             {{"1f1b", {PipelineScheme::kOneForwardOneBackward}},
              {"gpipe", {PipelineScheme::kGpipe}}},
             "Of the pipeline");
  whole(app.add_option("--top", request.top, "Plans to show")->type_name("N"), 1, 1 << 20)
      ->capture_default_str();
}

}  // namespace

Command add_train_plan(CLI::App* app) {
  auto request = std::make_shared<TrainPlanRequest>();
  app->description("Plans of parallel training: time and memory of every process");
  app->require_subcommand(0, 1);
  add_model_options(*app, request->model);
  add_question(*app, *request);
  add_report(*app, request->page);
  add_json(*app, request->json);
  const Command pipeline = add_train_plan_pipeline(*app);
  const Command zero = add_train_plan_zero(*app);
  return {app,
          [request, pipeline, zero]() -> Ending {
            if (pipeline.app->parsed()) return pipeline.run();
            if (zero.app->parsed()) return zero.run();
            return run_train_plan(*request);
          },
          false,
          [request, app] {
            if (app->get_subcommands().empty()) check_complete(*request);
          }};
}

}  // namespace espalier::cli
