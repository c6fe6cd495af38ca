#include "espalier/training/lifetimes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "espalier/model/error.h"

namespace espalier {
namespace {

std::vector<std::int64_t> positions(const TaskGraph& graph,
                                    std::span<const TaskId> order) {
  std::vector<std::int64_t> position(graph.size(), -1);
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (index(order[k]) >= graph.size() || position[index(order[k])] >= 0)
      throw InvalidInput(
          fmt::format("operator {} is none of the {}, or stands twice in "
                      "the order",
                      index(order[k]), graph.size()));
    position[index(order[k])] = static_cast<std::int64_t>(k);
  }
  if (order.size() != graph.size())
    throw InvalidInput(fmt::format("an order of {} operators for a graph of {}",
                                   order.size(), graph.size()));
  return position;
}

}  // namespace

Lifetimes lifetimes(const TaskGraph& graph, std::span<const TaskId> order) {
  const std::vector<std::int64_t> position = positions(graph, order);
  const auto end = std::max<std::int64_t>(1, static_cast<std::int64_t>(order.size()));
  Lifetimes result;
  std::vector<Buffer> buffers;
  result.of_datum.resize(graph.data());
  result.of_workspace.resize(graph.size());
  for (std::size_t d = 0; d < graph.data(); ++d) {
    const DatumId datum = datum_id(d);
    if (graph.size(datum) == 0) continue;
    const auto producer = graph.producer(datum);
    const std::int64_t from = producer ? position[index(*producer)] : 0;
    std::int64_t to = from + 1;
    for (const TaskId reader : graph.consumers(datum))
      to = std::max(to, position[index(reader)] + 1);
    if (graph.stays(datum)) to = end;
    result.of_datum[d] = buffer_id(buffers.size());
    result.holds.emplace_back(datum);
    buffers.push_back({from, to, graph.size(datum)});
  }
  for (const TaskId task : order) {
    if (graph.workspace(task) == 0) continue;
    const std::int64_t at = position[index(task)];
    result.of_workspace[index(task)] = buffer_id(buffers.size());
    result.holds.emplace_back(task);
    buffers.push_back({at, at + 1, graph.workspace(task)});
  }
  result.buffers = BufferSet(std::move(buffers));
  return result;
}

std::string buffer_name(const TaskGraph& graph, const Lifetimes& lifetimes,
                        BufferId buffer) {
  const auto& held = lifetimes.holds[index(buffer)];
  if (const auto* task = std::get_if<TaskId>(&held)) {
    const std::string_view name = graph.name(*task);
    return fmt::format("{}/workspace", name.empty() ? fmt::format("{}", index(*task))
                                                    : std::string(name));
  }
  const DatumId datum = std::get<DatumId>(held);
  const std::string_view name = graph.name(datum);
  return name.empty() ? fmt::format("datum {}", index(datum)) : std::string(name);
}

}  // namespace espalier
