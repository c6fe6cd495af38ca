#include "cli/checkpoint_answer.h"

#include <fmt/format.h>

namespace espalier::cli {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const CheckpointSchedule& schedule, const CheckpointAnswer& answer) {
  Json json = {{"input", answer.input},
               {"steps", schedule.steps},
               {"advances", schedule.advances},
               {"cost_seconds", answer.told(schedule.cost)},
               {"lower_bound_seconds", answer.told(schedule.lower_bound)},
               {"proved", schedule.cost == schedule.lower_bound},
               {"proof", name(schedule.proof)}};
  json["levels"] = Json::array();
  for (std::size_t k = 0; k < schedule.levels.size(); ++k) {
    json["levels"].push_back({{"name", schedule.levels[k].name},
                              {"slots", schedule.levels[k].slots},
                              {"writes", schedule.use[k].writes},
                              {"reads", schedule.use[k].reads}});
  }
  if (schedule.chain) {
    json["least_bytes"] = answer.least_bytes;
    json["peak_bytes"] = schedule.peak_bytes;
    json["bound_bytes"] = schedule.bound_bytes;
  }
  return json;
}

void add_levels(Report& report, const CheckpointSchedule& schedule) {
  report.heading(schedule.chain ? "States stored beside tapes" : "Slots");
  for (std::size_t k = 0; k < schedule.levels.size(); ++k) {
    const CheckpointLevel& level = schedule.levels[k];
    report.text(level.name, level.name,
                fmt::format("{} slots, {} writes, {} reads", level.slots,
                            schedule.use[k].writes, schedule.use[k].reads));
  }
}

}  // namespace

void print_schedule(const CheckpointSchedule& schedule, const CheckpointAnswer& answer,
                    bool json) {
  if (json) return print(dump(json_of(schedule, answer)));
  const auto cost = [&](Nanoseconds value) {
    return answer.unit == 1 ? fmt::format("{} steps", value)
                            : fmt::format("{:.6g} s", answer.told(value));
  };
  Report report;
  report.text("input", "input", answer.input);
  report.count("steps", "steps to reverse", schedule.steps);
  report.heading("Cost");
  report.count("advances", "forward steps", schedule.advances);
  report.text("cost", "cost", cost(schedule.cost));
  report.text("bound", "no schedule costs less than", cost(schedule.lower_bound));
  report.text("proof", "proved", name(schedule.proof));
  add_levels(report, schedule);
  if (schedule.chain) {
    report.heading("Memory");
    report.bytes("bound_bytes", "bound", schedule.bound_bytes);
    report.bytes("peak_bytes", "peak", schedule.peak_bytes);
    report.bytes("least_bytes", "least that suffices", answer.least_bytes);
  }
  report.print(false);
}

void print_curve(const Chain& chain, const CheckpointAnswer& answer, bool json) {
  if (!json) {
    std::string text = fmt::format("{:>20}  {:>12}  {:>12}\n", "bytes", "", "cost, s");
    for (const BudgetPoint& point : answer.curve) {
      text += fmt::format("{:>20}  {:>12}  {:>12.6g}\n", point.bytes,
                          format_size(point.bytes), answer.told(point.cost));
    }
    return print(text);
  }
  Nanoseconds once = 0;
  for (const Stage& stage : chain.stages()) once += stage.forward + stage.backward;
  Json points = Json::array();
  for (const BudgetPoint& point : answer.curve) {
    points.push_back({{"bytes", point.bytes}, {"cost_seconds", answer.told(point.cost)}});
  }
  print(dump({{"input", answer.input},
              {"steps", chain.size()},
              {"lower_bound_seconds", answer.told(once)},
              {"least_bytes", answer.least_bytes},
              {"proof", name(CheckpointProof::kOptimalPersistent)},
              {"curve", std::move(points)}}));
}

}  // namespace espalier::cli
