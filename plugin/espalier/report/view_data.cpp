#include "espalier/report/view_data.h"

#include <algorithm>
#include <cmath>

namespace espalier::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kTicks = 1e6;

std::int64_t tick(const Window& window, Seconds time) {
  const Seconds length = window.to - window.from;
  if (length <= 0) return 0;
  return std::llround(std::clamp((time - window.from) / length, 0.0, 1.0) * kTicks);
}

double hundredths(double value) { return std::round(100 * value) / 100; }

// from, to, tasks, id of the one task or -1, subtree, busy in percent: six numbers a bar.
Json json_of(const Window& window, const Lane& lane, std::span<const std::int64_t> ids) {
  const auto id = [&](TaskId task) {
    return ids.empty() ? static_cast<std::int64_t>(task) : ids[index(task)];
  };
  Json bars = Json::array();
  for (const GanttBar& block : lane.blocks) {
    bars.push_back(tick(window, block.from));
    bars.push_back(tick(window, block.to));
    bars.push_back(block.tasks);
    bars.push_back(block.task ? id(*block.task) : -1);
    bars.push_back(block.subtree);
    bars.push_back(std::llround(100 * block.busy));
  }
  return {{"first_worker", lane.first_worker},
          {"workers", lane.workers},
          {"bars", std::move(bars)}};
}

Json json_of(const Occupancy& occupancy) {
  Json busy = Json::array(), held = Json::array();
  for (const WorkerUse& use : occupancy.column) {
    busy.push_back(hundredths(use.busy));
    held.push_back(hundredths(use.held));
  }
  return {{"mean", json_of(occupancy.mean)},
          {"busy", std::move(busy)},
          {"held", std::move(held)}};
}

}  // namespace

Json json_of(const WorkerUse& use) {
  return {{"busy", use.busy}, {"held", use.held}, {"short_of_work", use.short_of_work}};
}

Json json_of(const MemoryChart& chart) {
  return {{"exact", chart.columns.exact},
          {"time", chart.columns.start},
          {"end", chart.columns.end},
          {"high", chart.high},
          {"low", chart.low},
          {"parts", chart.part}};
}

Json json_of(const RunView& view, std::span<const std::int64_t> ids) {
  Json json = {{"from", view.window.from},
               {"to", view.window.to},
               {"memory", json_of(view.memory)}};
  if (view.lanes.empty()) return json;
  Json lanes = Json::array();
  for (const Lane& lane : view.lanes) lanes.push_back(json_of(view.window, lane, ids));
  json["lanes"] = std::move(lanes);
  json["occupancy"] = json_of(view.occupancy);
  return json;
}

}  // namespace espalier::report
