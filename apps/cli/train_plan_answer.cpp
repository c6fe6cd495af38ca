#include "cli/train_plan_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/output.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::ordered_json;
using Reason = RejectedSetting::Reason;

constexpr std::array kReasons = {Reason::kMemory, Reason::kBatch, Reason::kTensor,
                                 Reason::kLayers};

std::int64_t count(const TrainingPlans& answer, Reason reason) {
  return std::ranges::count(answer.rejected, reason, &RejectedSetting::reason);
}

Json json_of(const TrainingSetting& setting) {
  return {{"data", setting.data},
          {"pipeline", setting.pipeline},
          {"tensor", setting.tensor},
          {"zero", static_cast<int>(setting.zero)},
          {"micro_batch", setting.micro_batch},
          {"micro_batches", setting.micro_batches},
          {"schedule", name(setting.schedule)}};
}

Json json_of(const TrainingPlan& plan) {
  Json json = json_of(plan.setting);
  json["step_seconds"] = to_seconds(plan.step);
  json["peak_bytes"] = plan.peak_bytes();
  json["stages"] = Json::array();
  for (const TrainingPlan::Stage& stage : plan.stages) {
    json["stages"].push_back({{"first_layer", stage.part.first},
                              {"last_layer", stage.part.last},
                              {"recomputed_layers", stage.part.recomputed},
                              {"micro_batches_under_way", stage.under_way},
                              {"parameter_bytes", stage.memory.persistent.parameters},
                              {"gradient_bytes", stage.memory.persistent.gradients},
                              {"state_bytes", stage.memory.persistent.states},
                              {"neighbour_bytes", stage.memory.neighbours},
                              {"kept_bytes", stage.memory.kept},
                              {"gathered_bytes", stage.memory.gathered},
                              {"peak_bytes", stage.peak_bytes},
                              {"forward_seconds", to_seconds(stage.times.forward)},
                              {"backward_seconds", to_seconds(stage.times.backward)},
                              {"reduce_seconds", to_seconds(stage.times.reduce)},
                              {"update_seconds", to_seconds(stage.times.update)},
                              {"gather_seconds", to_seconds(stage.times.gather)}});
  }
  return json;
}

void print_json(const TrainPlanReport& report) {
  const TrainingPlans& answer = report.answer;
  Json json = {{"model", report.model},
               {"parameters", report.parameters},
               {"processes", report.question.processes},
               {"batch", report.question.batch},
               {"bound_bytes", report.question.bound},
               {"lower_bound_seconds", to_seconds(answer.lower_bound)},
               {"considered", answer.considered()},
               {"fitting", answer.plans.size()},
               {"stopped", answer.stopped},
               {"feasible", !answer.plans.empty()}};
  const std::optional<Bytes> least = least_of(answer);
  if (answer.plans.empty()) {
    // Of memory some cuts are tried; the rest is arithmetic.
    const bool hopeless = !least && !answer.stopped;
    json["reason"] = reason_text(hopeless ? Infeasible::Reason::kImpossible
                                          : Infeasible::Reason::kNoneFound);
    if (least) json["least_bytes"] = *least;
  }
  for (const Reason reason : kReasons)
    json["rejected_counts"][std::string(name(reason))] = count(answer, reason);
  const auto shown = static_cast<std::size_t>(report.shown);
  json["plans"] = Json::array();
  for (std::size_t k = 0; k < std::min(shown, answer.plans.size()); ++k)
    json["plans"].push_back(json_of(answer.plans[k]));
  for (std::size_t s = 0; s < report.layout_bytes.size(); ++s)
    json["plans"][0]["stages"][s]["layout_bytes"] = report.layout_bytes[s];
  if (!answer.plans.empty())
    json["replayed"] = report.replay == PlanReplay::kWhole    ? "memory and times"
                       : report.replay == PlanReplay::kMemory ? "memory"
                                                              : "nothing";
  json["rejected"] = Json::array();
  for (const RejectedSetting& rejected : answer.rejected) {
    Json entry = json_of(rejected.setting);
    entry["reason"] = name(rejected.reason);
    entry["why"] = rejected.why;
    if (rejected.reason == Reason::kMemory) entry["least_bytes"] = rejected.least_bytes;
    json["rejected"].push_back(std::move(entry));
  }
  print(dump(json));
}

std::string stages_text(const TrainPlanReport& report) {
  const TrainingPlan& plan = report.answer.plans.front();
  std::string text = fmt::format(
      "\n  {:>5}{:>12}{:>12}{:>13}{:>12}{:>16}{:>12}{:>12}{:>12}\n", "stage", "layers",
      "recomputed", "persistent", "gathered", "kept", "peak", "layout", "free");
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const TrainingPlan::Stage& stage = plan.stages[s];
    text += fmt::format(
        "  {:>5}{:>12}{:>12}{:>13}{:>12}{:>16}{:>12}{:>12}{:>12}\n", s,
        fmt::format("{} … {}", stage.part.first, stage.part.last), stage.part.recomputed,
        format_size(stage.memory.persistent.all()), format_size(stage.memory.gathered),
        fmt::format("{} x {}", stage.under_way, format_size(stage.memory.kept)),
        format_size(stage.peak_bytes),
        s < report.layout_bytes.size() ? format_size(report.layout_bytes[s]) : "-",
        format_size(report.question.bound - stage.peak_bytes));
  }
  return text;
}

std::string replay_text(PlanReplay replay) {
  switch (replay) {
    case PlanReplay::kNone:
      return "\n  Of so many micro-batches neither memory nor times were replayed.\n";
    case PlanReplay::kMemory:
      return "\n  Of so many micro-batches the memory was replayed, the times were "
             "not.\n";
    case PlanReplay::kWhole:
      break;
  }
  return "";
}

std::string table(const std::vector<std::vector<std::string>>& rows,
                  const std::vector<std::string>& heads) {
  std::vector<std::size_t> width;
  for (const std::string& head : heads) width.push_back(head.size());
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c)
      width[c] = std::max(width[c], row[c].size());
  std::string text;
  const auto line = [&](const std::vector<std::string>& cells) {
    text += " ";
    for (std::size_t c = 0; c < cells.size(); ++c)
      text += c == 0 || c + 1 == cells.size()
                  ? fmt::format("  {:<{}}", cells[c], width[c])
                  : fmt::format("  {:>{}}", cells[c], width[c]);
    while (text.ends_with(' ')) text.pop_back();
    text += '\n';
  };
  line(heads);
  for (const auto& row : rows) line(row);
  return text;
}

}  // namespace

std::string rejected_text(const TrainingPlans& answer) {
  std::string text;
  for (const Reason reason : kReasons) {
    const std::int64_t number = count(answer, reason);
    if (number > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name(reason), number);
  }
  return text;
}

std::vector<std::vector<std::string>> plan_rows(const TrainPlanReport& report) {
  std::vector<std::vector<std::string>> rows;
  for (const TrainingPlan& plan : report.answer.plans) {
    if (std::ssize(rows) == report.shown) break;
    std::int64_t recomputed = 0;
    for (const TrainingPlan::Stage& stage : plan.stages)
      recomputed += stage.part.recomputed;
    const double part = plan.step > 0 ? 100 * to_seconds(report.answer.lower_bound) /
                                            to_seconds(plan.step)
                                      : 0;
    rows.push_back({describe(plan.setting), fmt::format("{}", recomputed),
                    fmt::format("{:.4g} s", to_seconds(plan.step)),
                    fmt::format("{:.0f} %", part), format_size(plan.peak_bytes())});
  }
  return rows;
}

std::vector<std::vector<std::string>> rejected_rows(const TrainPlanReport& report) {
  std::vector<std::vector<std::string>> rows;
  for (const Reason reason : kReasons) {
    std::int64_t number = 0;
    for (const RejectedSetting& rejected : report.answer.rejected) {
      if (rejected.reason != reason) continue;
      if (++number > (reason == Reason::kMemory ? report.shown : 3)) break;
      const TrainingSetting& s = rejected.setting;
      rows.push_back({reason == Reason::kMemory
                          ? describe(s)
                          : fmt::format("data {} x pipeline {} x tensor {}", s.data,
                                        s.pipeline, s.tensor),
                      rejected.why});
    }
  }
  return rows;
}

void print_training(const TrainPlanReport& report, bool json) {
  if (json) return print_json(report);
  const TrainingQuestion& question = report.question;
  const TrainingPlans& answer = report.answer;
  std::string text = fmt::format(
      "{}: {} parameters, a batch of {} on {} process{}, at most {} on each\n",
      report.model, report.parameters, question.batch, question.processes,
      question.processes == 1 ? "" : "es", format_size(question.bound));
  text +=
      fmt::format("{} settings looked at, {} fit{}\n", answer.considered(),
                  answer.plans.size(), answer.stopped ? "; stopped before the end" : "");
  if (!answer.plans.empty()) {
    const TrainingPlan& best = answer.plans.front();
    text += fmt::format(
        "\nThe fastest: {}\n  a step of {:.4g} s (flops alone: {:.4g} s)\n",
        describe(best.setting), to_seconds(best.step), to_seconds(answer.lower_bound));
    text += stages_text(report);
    text += replay_text(report.replay);
    text += "\nPlans that fit, the fastest first\n";
    text += table(plan_rows(report),
                  {"setting", "recomputed", "step", "of peak rate", "memory"});
  }
  if (!answer.rejected.empty()) {
    text += fmt::format("\nWhat fell out ({}), what is nearest first\n",
                        rejected_text(answer));
    text += table(rejected_rows(report), {"setting", "why"});
  }
  print(text);
}

std::optional<Bytes> least_of(const TrainingPlans& answer) {
  std::optional<Bytes> least;
  for (const RejectedSetting& rejected : answer.rejected)
    if (rejected.reason == RejectedSetting::Reason::kMemory)
      least = std::min(least.value_or(rejected.least_bytes), rejected.least_bytes);
  return least;
}

}  // namespace espalier::cli
