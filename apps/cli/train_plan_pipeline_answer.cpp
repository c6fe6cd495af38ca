#include "cli/train_plan_pipeline_answer.h"

#include <fmt/format.h>

#include "cli/output.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string size_text(const PipelineReport& report, Bytes bytes) {
  if (report.unit == 1) return format_size(bytes);
  const double count = static_cast<double>(bytes) / static_cast<double>(report.unit);
  return fmt::format("{:.4g} micro-batch{}", count, count == 1 ? "" : "es");
}

// Bytes, or how many micro-batches they stand for.
void put_size(Json& json, const std::string& key, const PipelineReport& report,
              Bytes bytes) {
  if (report.unit == 1) {
    json[key + "_bytes"] = bytes;
  } else {
    json[key + "_micro_batches"] =
        static_cast<double>(bytes) / static_cast<double>(report.unit);
  }
}

bool fits(const PipelineReport& report, const PipelinePlan& plan) {
  return !report.bound || plan.peak_bytes() <= *report.bound;
}

double gap(const PipelinePlan& plan) {
  return plan.lower_bound == 0 ? 0
                               : static_cast<double>(plan.value - plan.lower_bound) /
                                     static_cast<double>(plan.lower_bound);
}

Json devices_of(const PipelineReport& report, const PipelinePlan& plan) {
  Json list = Json::array();
  for (const PipelineRun::Device& device : plan.run.devices) {
    list.push_back({{"busy_seconds", to_seconds(device.busy)},
                    {"idle_seconds", to_seconds(device.idle(plan.run.makespan))},
                    {"idle_inside_seconds", to_seconds(device.idle_inside())}});
    put_size(list.back(), "peak", report, device.peak_bytes);
  }
  return list;
}

Json json_of(const PipelineReport& report, const PipelinePlan& plan) {
  Json json = {{"schedule", describe(plan.form)},
               {"origin", plan.origin},
               {"makespan_seconds", to_seconds(plan.run.makespan)},
               {"step_seconds", to_seconds(plan.run.makespan + report.once)},
               {"value_seconds", to_seconds(plan.value)},
               {"lower_bound_seconds", to_seconds(plan.lower_bound)},
               {"gap", gap(plan)},
               {"proved", plan.value == plan.lower_bound},
               {"idle_fraction", plan.idle_fraction()},
               {"fits", fits(report, plan)}};
  put_size(json, "peak", report, plan.peak_bytes());
  json["devices"] = devices_of(report, plan);
  return json;
}

Json json_of(const ChainCut& cut) {
  Json parts = Json::array();
  for (const ChainCut::Part& part : cut.parts) {
    parts.push_back({{"first", part.first},
                     {"last", part.last},
                     {"weight_bytes", part.weights},
                     {"budget_bytes", part.budget},
                     {"cost_seconds", to_seconds(part.cost)}});
  }
  return parts;
}

void print_json(const PipelineReport& report) {
  Json json = {{"input", report.input}, {"micro_batches", report.micro_batches}};
  json["stages"] = report.plans.front().pipeline.devices();
  if (report.bound) put_size(json, "bound", report, *report.bound);
  json["feasible"] = report.chosen.has_value();
  if (report.cut) json["cut"] = json_of(*report.cut);
  if (report.chosen) json["chosen"] = json_of(report, report.plans[*report.chosen]);
  json["schedules"] = Json::array();
  for (const PipelinePlan& plan : report.plans)
    json["schedules"].push_back(json_of(report, plan));
  json["left_out"] = Json::array();
  for (const PipelineForm& form : report.left_out)
    json["left_out"].push_back(describe(form));
  print(dump(json));
}

std::string table_of(const PipelineReport& report) {
  std::string text =
      fmt::format("\n  {:<16}{:>12}{:>9}{:>20}{:>14}{:>9}\n", "schedule", "step", "idle",
                  "most on a device", "no less than", "gap");
  for (std::size_t k = 0; k < report.plans.size(); ++k) {
    const PipelinePlan& plan = report.plans[k];
    const auto time = [](Nanoseconds value) {
      return fmt::format("{:.6g} s", to_seconds(value));
    };
    text += fmt::format(
        "  {:<16}{:>12}{:>7.1f} %{:>20}{:>14}{:>7.1f} %{}\n", describe(plan.form),
        time(plan.value), 100 * plan.idle_fraction(),
        size_text(report, plan.peak_bytes()), time(plan.lower_bound), 100 * gap(plan),
        !fits(report, plan)
            ? fmt::format("  {} too much",
                          size_text(report, plan.peak_bytes() - *report.bound))
        : report.chosen == k && report.plans.size() > 1 ? "  <- chosen"
                                                        : "");
  }
  return text;
}

std::string left_out_text(const PipelineReport& report) {
  std::vector<std::string> names;
  for (const PipelineForm& form : report.left_out) names.push_back(describe(form));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string devices_text(const PipelineReport& report, const PipelinePlan& plan) {
  std::string text =
      fmt::format("\n{}{}\n  {:>6}{:>14}{:>14}{:>14}{:>18}\n", describe(plan.form),
                  plan.form.scheme ? "" : fmt::format(", found by: {}", plan.origin),
                  "device", "busy", "idle", "idle inside", "holds at most");
  for (std::size_t d = 0; d < plan.run.devices.size(); ++d) {
    const PipelineRun::Device& device = plan.run.devices[d];
    text += fmt::format(
        "  {:>6}{:>12.6g} s{:>12.6g} s{:>12.6g} s{:>18}\n", d, to_seconds(device.busy),
        to_seconds(device.idle(plan.run.makespan)), to_seconds(device.idle_inside()),
        size_text(report, device.peak_bytes));
  }
  return text;
}

std::string cut_text(const ChainCut& cut) {
  std::string text =
      fmt::format("\n  {:>6}{:>16}{:>14}{:>22}{:>24}\n", "device", "stages of chain",
                  "weights", "for each micro-batch", "forward and backward");
  for (std::size_t s = 0; s < cut.parts.size(); ++s) {
    const ChainCut::Part& part = cut.parts[s];
    text += fmt::format("  {:>6}{:>16}{:>14}{:>22}{:>22.6g} s\n", s,
                        fmt::format("{} … {}", part.first, part.last),
                        format_size(part.weights), format_size(part.budget),
                        to_seconds(part.cost));
  }
  return text;
}

// Infeasible::message() where micro-batches are counted.
std::string message_of(const PipelineReport& report, const Infeasible& no) {
  const std::string bound = size_text(report, no.bound_bytes),
                    least = size_text(report, no.least_bytes);
  if (no.reason == Infeasible::Reason::kImpossible)
    return fmt::format(
        "a bound of {} is too small: no schedule needs less than {}; {} would do", bound,
        size_text(report, no.lower_bound_bytes), least);
  return fmt::format("no schedule found inside a bound of {}; {} would do", bound, least);
}

}  // namespace

void print_refused(const PipelineReport& report, const Infeasible& no, bool json) {
  Report facts;
  facts.text("input", "", report.input);
  facts.count("micro_batches", "", report.micro_batches);
  if (report.unit == 1) return print_infeasible(std::move(facts), no, json);
  note(message_of(report, no));
  if (!json) return;
  Json answer = facts.json();
  answer["feasible"] = false;
  answer["reason"] = reason_text(no.reason);
  put_size(answer, "bound", report, no.bound_bytes);
  put_size(answer, "least", report, no.least_bytes);
  put_size(answer, "lower_bound", report, no.lower_bound_bytes);
  print(dump(answer));
}

void print_pipelines(const PipelineReport& report, bool json) {
  if (json) return print_json(report);
  std::string text = fmt::format(
      "{}: {} stages, {} micro-batches{}\n", report.input,
      report.plans.front().pipeline.devices(), report.micro_batches,
      report.bound
          ? fmt::format(", at most {} on each device", size_text(report, *report.bound))
          : "");
  if (report.cut) text += cut_text(*report.cut);
  text += table_of(report);
  if (!report.left_out.empty())
    text += fmt::format("  time was over before: {}\n", left_out_text(report));
  if (report.once > 0)
    text += fmt::format("  and {:.6g} s once a step\n", to_seconds(report.once));
  if (report.chosen) text += devices_text(report, report.plans[*report.chosen]);
  print(text);
}

}  // namespace espalier::cli
