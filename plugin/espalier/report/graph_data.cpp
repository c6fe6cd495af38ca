// Order of a graph -> the data of its page.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "espalier/report/graph_page.h"
#include "espalier/report/graph_picture.h"
#include "espalier/report/page.h"
#include "espalier/report/view_data.h"

namespace espalier::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kRows = 20;  // of a table

Json json_of(const GraphPicture& picture) {
  const auto view = [](const MemoryChart& chart) {
    const Seconds from = chart.columns.start.empty() ? 0 : chart.columns.start.front();
    return Json{{"from", from}, {"to", chart.columns.end}, {"memory", json_of(chart)}};
  };
  return {{"peak_bytes", picture.replay.peak},
          {"whole", view(picture.whole)},
          {"peak", view(picture.peak)}};
}

Json held_rows(const TaskGraph& graph, std::span<const TaskId> order,
               const GraphPicture& picture) {
  Json rows = Json::array();
  for (std::size_t k = 0; k < std::min(kRows, picture.held.size()); ++k) {
    const HeldDatum& held = picture.held[k];
    Json row = {{"datum", label(graph, held.datum)},
                {"bytes", graph.size(held.datum)},
                {"kept", graph.stays(held.datum)}};
    if (const auto producer = graph.producer(held.datum)) {
      row["producer"] = label(graph, *producer);
      row["written_now"] = *producer == *picture.replay.peak_task;
    }
    if (held.next_reader) {
      row["next_reader"] = label(graph, order[*held.next_reader]);
      row["next_step"] = *held.next_reader + 1;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Json peak_of(const TaskGraph& graph, std::span<const TaskId> order,
             const GraphPicture& picture) {
  if (!picture.replay.peak_task) return nullptr;
  const TaskId task = *picture.replay.peak_task;
  Bytes initial = 0, written = 0;
  for (const HeldDatum& held : picture.held) {
    (graph.producer(held.datum) ? written : initial) += graph.size(held.datum);
  }
  return {{"operator", label(graph, task)},
          {"step", static_cast<std::int64_t>(picture.replay.peak_time) + 1},
          {"bytes", picture.replay.peak},
          {"purposes",
           {{"initial_bytes", initial},
            {"written_bytes", written},
            {"workspace_bytes", graph.workspace(task)}}},
          {"held_data", picture.held.size()},
          {"held", held_rows(graph, order, picture)}};
}

// The steps with most in memory.
Json operator_rows(const TaskGraph& graph, std::span<const TaskId> order,
                   const GraphPicture& picture) {
  std::vector<std::size_t> steps(order.size());
  std::iota(steps.begin(), steps.end(), 0);
  const std::size_t shown = std::min(kRows, steps.size());
  std::partial_sort(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(shown),
                    steps.end(), [&](std::size_t a, std::size_t b) {
                      const Bytes in_a = picture.while_running[a];
                      const Bytes in_b = picture.while_running[b];
                      return in_a != in_b ? in_a > in_b : a < b;
                    });
  Json rows = Json::array();
  for (const std::size_t step : std::span(steps).first(shown)) {
    rows.push_back({{"operator", label(graph, order[step])},
                    {"step", step + 1},
                    {"bytes", picture.while_running[step]},
                    {"own_bytes", graph.memory_requirement(order[step])},
                    {"workspace_bytes", graph.workspace(order[step])}});
  }
  return rows;
}

}  // namespace

std::string data_of(const GraphPage& page) {
  const TaskGraph& graph = *page.graph;
  const GraphPicture order = picture_of(graph, page.order);
  Json json = {{"kind", "graph"}, {"title", page.title}, {"facts", page.facts}};
  json["figures"] = {{"operators", graph.size()},
                     {"data", graph.data()},
                     {"initial_bytes", graph.initial_bytes()},
                     {"final_bytes", graph.final_bytes()},
                     {"least_bytes", order.replay.peak},
                     {"lower_bound_bytes", page.lower_bound_bytes},
                     {"proved", order.replay.peak == page.lower_bound_bytes}};
  json["order"] = json_of(order);
  if (!page.file_order.empty()) {
    json["file_order"] = json_of(picture_of(graph, page.file_order));
  }
  json["peak"] = peak_of(graph, page.order, order);
  json["operators"] = operator_rows(graph, page.order, order);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void write_page(const std::string& path, const GraphPage& page) {
  write_html(path, data_of(page));
}

}  // namespace espalier::report
