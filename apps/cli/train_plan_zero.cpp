// espalier train-plan zero: what each rank of data parallelism keeps, gathers and sends.

#include "cli/train_plan_zero.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>

#include "cli/number_option.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/train_plan_model.h"
#include "espalier/layout/layout.h"
#include "espalier/sharding/rank_memory.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::ordered_json;

struct ZeroRequest {
  ModelRequest model;
  std::int32_t ranks = 1;
  std::int64_t micro_batch = 1;
  std::int32_t micro_batches = 1;
  std::int64_t recomputed = 0;
  bool json = false;
};

/// A stage, as one rank has it.
struct ZeroRow {
  TrainingPlan plan;
  Bytes formula = 0;   ///< of the persistent bytes, without padding
  Bytes sent = 0;      ///< in a step
  Bytes capacity = 0;  ///< of the layout of what it holds for a while
  [[nodiscard]] const StageMemory& memory() const { return plan.stages[0].memory; }
};

Bytes formula(std::int64_t parameters, const OptimiserBytes& bytes, ZeroStage stage,
              std::int32_t ranks) {
  Bytes whole = 0, divided = 0;
  const auto add = [&](Bytes each, bool is_divided) {
    Bytes& sum = is_divided ? divided : whole;
    sum = checked_add(sum, checked_mul(each, parameters));
  };
  add(bytes.parameter, stage >= ZeroStage::kParameters);
  add(bytes.gradient, stage >= ZeroStage::kGradients);
  add(bytes.states, stage >= ZeroStage::kStates);
  return checked_add(whole, divided / ranks);
}

// Whole parameters: gathered twice a micro-batch, or once a step; whole gradients:
// reduced and scattered each micro-batch, or all-reduced once a step.
Bytes sent(const StageCosts& costs, const TrainingPlan& plan) {
  const StageSetting& setting = costs.setting();
  const std::int32_t n = setting.data;
  const std::int64_t m = plan.setting.micro_batches;
  Bytes sum = 0;
  for (const std::int64_t unit : costs.units(plan.stages[0].part)) {
    const std::int64_t elements =
        setting.zero == ZeroStage::kNone ? unit : padded_elements(unit, n);
    const Bytes parameters =
        all_gather_bytes(checked_mul(elements, setting.optimiser.parameter), n);
    const Bytes gradients =
        all_gather_bytes(checked_mul(elements, setting.optimiser.gradient), n);
    const std::int64_t gathers = setting.zero == ZeroStage::kParameters ? 2 * m
                                 : setting.zero == ZeroStage::kNone     ? 0
                                                                        : 1;
    const std::int64_t reduces = setting.zero == ZeroStage::kNone        ? 2
                                 : setting.zero >= ZeroStage::kGradients ? m
                                                                         : 1;
    sum = checked_add(sum, checked_add(checked_mul(gathers, parameters),
                                       checked_mul(reduces, gradients)));
  }
  return sum;
}

ZeroRow row_of(const TrainingModel& model, const LayeredModel& layers,
               const ZeroRequest& request, ZeroStage stage) {
  const OptimiserBytes bytes = optimiser_of(request.model);
  const TrainingSetting setting{request.ranks,         1,    1, request.micro_batch,
                                request.micro_batches, stage};
  const StageCosts costs(layers,
                         {request.ranks, 1, 1, stage, bytes, request.model.cluster});
  ZeroRow row;
  row.plan = training_plan(
      costs, setting,
      {{0, layers.size() - 1, std::min(request.recomputed, layers.size())}});
  row.formula = formula(model.parameters, bytes, stage, request.ranks);
  row.sent = sent(costs, row.plan);
  // Every micro-batch is like the first: its buffers are the layout's.
  const TrainingPlan one = first_micro_batches(row.plan);
  const Violations wrong = validate_training_plan(
      costs, training_plan(costs, one.setting, {one.stages[0].part}));
  if (!wrong.empty()) throw std::logic_error("the plan is not valid: " + wrong.front());
  LayoutOptions options;
  options.time = 2;
  options.steps = 2000;
  row.capacity =
      layout(BufferSet(rank_buffers(costs, one, 0).buffers), options).capacity_bytes;
  return row;
}

Json json_of(const ZeroRow& row) {
  const StageMemory& memory = row.memory();
  const TrainingPlan::Stage& stage = row.plan.stages[0];
  return {{"zero", static_cast<int>(row.plan.setting.zero)},
          {"parameter_bytes", memory.persistent.parameters},
          {"gradient_bytes", memory.persistent.gradients},
          {"state_bytes", memory.persistent.states},
          {"persistent_bytes", memory.persistent.all()},
          {"formula_bytes", row.formula},
          {"gathered_bytes", memory.gathered},
          {"transient_bytes", stage.peak_bytes - memory.fixed()},
          {"layout_bytes", row.capacity},
          {"peak_bytes", stage.peak_bytes},
          {"sent_bytes", row.sent},
          {"step_seconds", to_seconds(row.plan.step)}};
}

void print_rows(const TrainingModel& model, const ZeroRequest& request,
                const std::vector<ZeroRow>& rows) {
  if (request.json) {
    Json json = {{"model", model.name},
                 {"parameters", model.parameters},
                 {"ranks", request.ranks},
                 {"micro_batch", request.micro_batch},
                 {"micro_batches", request.micro_batches}};
    json["stages"] = Json::array();
    for (const ZeroRow& row : rows) json["stages"].push_back(json_of(row));
    return print(dump(json));
  }
  std::string text = fmt::format(
      "{}: {} parameters on {} ranks, {} micro-batch{} of {} each\n\n"
      "  {:<6}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}\n",
      model.name, model.parameters, request.ranks, request.micro_batches,
      request.micro_batches == 1 ? "" : "es", request.micro_batch, "", "parameters",
      "gradients", "states", "persistent", "gathered", "transient", "peak", "sent",
      "step");
  for (const ZeroRow& row : rows) {
    const StageMemory& memory = row.memory();
    const TrainingPlan::Stage& stage = row.plan.stages[0];
    text += fmt::format(
        "  {:<6}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}{:>10.4g} s\n",
        fmt::format("zero-{}", static_cast<int>(row.plan.setting.zero)),
        format_size(memory.persistent.parameters),
        format_size(memory.persistent.gradients), format_size(memory.persistent.states),
        format_size(memory.persistent.all()), format_size(memory.gathered),
        format_size(stage.peak_bytes - memory.fixed()), format_size(stage.peak_bytes),
        format_size(row.sent), to_seconds(row.plan.step));
  }
  text +=
      "\n  Persistent: all the time. Transient: activations and what is gathered, at\n"
      "  most. Padding beyond the formulas:";
  for (const ZeroRow& row : rows)
    text += fmt::format(" {} B", row.memory().persistent.all() - row.formula);
  text += ".\n";
  print(text);
}

ExitStatus run_zero(const ZeroRequest& request) {
  const TrainingModel model = training_model(request.model);
  const LayeredModel layers = model.split(1, request.micro_batch);
  std::vector<ZeroRow> rows;
  Progress progress("planning");
  for (const ZeroStage stage : {ZeroStage::kNone, ZeroStage::kStates,
                                ZeroStage::kGradients, ZeroStage::kParameters})
    rows.push_back(row_of(model, layers, request, stage));
  print_rows(model, request, rows);
  return kDone;
}

}  // namespace

Command add_train_plan_zero(CLI::App& train_plan) {
  auto request = std::make_shared<ZeroRequest>();
  CLI::App* app = train_plan.add_subcommand(
      "zero", "What each rank of data parallelism keeps, gathers and sends");
  add_model_options(*app, request->model);
  whole(app->add_option("--ranks", request->ranks, "Ranks of data parallelism")
            ->type_name("N"),
        1, 1 << 20)
      ->capture_default_str();
  whole(app->add_option("--micro-batch", request->micro_batch, "Samples of a micro-batch")
            ->type_name("B"),
        1, 1 << 20)
      ->capture_default_str();
  whole(app->add_option("--micro-batches", request->micro_batches,
                        "Micro-batches of a step on each rank")
            ->type_name("M"),
        1, 1 << 20)
      ->capture_default_str();
  whole(app->add_option("--recompute", request->recomputed,
                        "Layers, from the first on, that keep their inputs alone")
            ->type_name("LAYERS"),
        0)
      ->capture_default_str();
  add_json(*app, request->json);
  return {app, [request] { return run_zero(*request); }};
}

}  // namespace espalier::cli
