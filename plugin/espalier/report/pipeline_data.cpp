// Schedule of a pipeline -> the data of its page.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "espalier/model/error.h"
#include "espalier/report/memory_chart.h"
#include "espalier/report/page.h"
#include "espalier/report/pipeline_page.h"

namespace espalier::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostOperations = 60'000;

// By device: kind, micro-batch, chunk, begin and end of each operation, one after the
// other; times in nanoseconds.
Json lanes_of(const PipelinePage& page) {
  Json lanes = Json::array();
  for (std::size_t d = 0; d < page.schedule->orders.size(); ++d) {
    Json lane = Json::array();
    for (std::size_t k = 0; k < page.schedule->orders[d].size(); ++k) {
      const PipelineOperation& operation = page.schedule->orders[d][k];
      const Nanoseconds begin = page.run->starts[d][k];
      lane.push_back(static_cast<int>(operation.kind));
      lane.push_back(operation.micro_batch);
      lane.push_back(operation.chunk);
      lane.push_back(begin);
      lane.push_back(begin + duration(*page.pipeline, operation));
    }
    lanes.push_back(std::move(lane));
  }
  return lanes;
}

// What each device holds at most in each column of time.
Json held_by(const PipelinePage& page) {
  const auto held = pipeline_memory(*page.pipeline, *page.schedule, *page.run);
  std::vector<MemoryPoint> moments;
  for (const auto& device : held)
    for (const PipelineHolding& moment : device)
      moments.push_back({to_seconds(moment.time), 0});
  std::ranges::sort(moments, {}, &MemoryPoint::time);
  const auto same = std::ranges::unique(moments, {}, &MemoryPoint::time);
  moments.erase(same.begin(), same.end());
  const Columns columns = columns_of(moments, kPageColumns);
  Json devices = Json::array();
  for (const auto& device : held) {
    ChartFolder folder(columns, 1);
    Bytes now = 0;
    for (const PipelineHolding& moment : device) {
      folder.go_to(to_seconds(moment.time));
      folder.change(0, moment.bytes - now);
      folder.note();
      now = moment.bytes;
    }
    folder.go_to(columns.end);
    folder.note();
    devices.push_back(folder.take().high);
  }
  return {{"time", columns.start}, {"end", columns.end}, {"devices", devices}};
}

Json figures_of(const PipelinePage& page) {
  Nanoseconds busy = 0;
  Bytes peak = 0;
  Json devices = Json::array();
  for (std::size_t d = 0; d < page.run->devices.size(); ++d) {
    const PipelineRun::Device& device = page.run->devices[d];
    busy += device.busy;
    peak = std::max(peak, device.peak_bytes);
    devices.push_back(
        {{"busy", to_seconds(device.busy)},
         {"idle", to_seconds(device.idle(page.run->makespan))},
         {"persistent", page.pipeline->persistent(static_cast<std::int32_t>(d))},
         {"peak", device.peak_bytes}});
  }
  return {{"stages", page.pipeline->devices()},
          {"chunks", page.pipeline->chunks()},
          {"micro_batches", page.pipeline->micro_batches()},
          {"makespan", to_seconds(page.run->makespan)},
          {"busy", to_seconds(busy)},
          {"lower_bound", to_seconds(page.lower_bound)},
          {"peak_bytes", peak},
          {"bound_bytes", page.bound ? Json(*page.bound) : Json(nullptr)},
          {"unit", page.unit},
          {"devices", std::move(devices)}};
}

}  // namespace

std::string data_of(const PipelinePage& page) {
  std::size_t operations = 0;
  for (const auto& order : page.schedule->orders) operations += order.size();
  if (operations > kMostOperations)
    throw InvalidInput(fmt::format("{} operations are too many to draw, at most {}",
                                   operations, kMostOperations));
  Json facts = Json::array({{"schedule", page.name}});
  for (const auto& [what, value] : page.facts) facts.push_back({what, value});
  Json json = {{"kind", "pipeline"}, {"title", page.title}, {"facts", std::move(facts)}};
  json["figures"] = figures_of(page);
  json["lanes"] = lanes_of(page);
  json["held"] = held_by(page);
  json["tables"] = Json::array();
  for (const PageTable& table : page.tables)
    json["tables"].push_back(
        {{"heading", table.heading}, {"columns", table.columns}, {"rows", table.rows}});
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void write_page(const std::string& path, const PipelinePage& page) {
  write_html(path, data_of(page));
}

}  // namespace espalier::report
