#include "espalier/model/task_graph.h"

#include <fmt/format.h>

namespace espalier {

Bytes TaskGraph::memory_requirement(TaskId task) const {
  Bytes bytes = workspace(task);
  for (const DatumId datum : inputs(task)) bytes += size(datum);
  for (const DatumId datum : outputs(task)) bytes += size(datum);
  return bytes;
}

std::string label(const TaskGraph& graph, TaskId task) {
  const std::string_view name = graph.name(task);
  if (!name.empty()) return fmt::format("operator '{}'", name);
  return fmt::format("operator {}", static_cast<std::int32_t>(task));
}

std::string label(const TaskGraph& graph, DatumId datum) {
  const std::string_view name = graph.name(datum);
  if (!name.empty()) return fmt::format("datum '{}'", name);
  return fmt::format("datum {}", static_cast<std::int32_t>(datum));
}

}  // namespace espalier
