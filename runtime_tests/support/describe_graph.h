#pragma once

// All that a task graph holds, as text: equal texts, equal graphs.

#include <fmt/format.h>

#include <string>

#include "espalier/model/task_graph.h"

namespace espalier::support {

/// A line a datum, "name size", perhaps "kept"; then a line an operator, "name workspace
/// work: inputs -> outputs". Unlike describe(), of graphs whose items have names.
inline std::string describe_named(const TaskGraph& graph) {
  const auto name = [&](auto id) { return std::string(graph.name(id)); };
  std::string text;
  for (std::size_t d = 0; d < graph.data(); ++d) {
    const DatumId datum = datum_id(d);
    text += fmt::format("{} {}{}\n", name(datum), graph.size(datum),
                        graph.kept(datum) ? " kept" : "");
  }
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const TaskId task = task_id(i);
    text +=
        fmt::format("{} {} {}: ", name(task), graph.workspace(task), graph.work(task));
    for (const DatumId datum : graph.inputs(task)) text += name(datum) + ' ';
    text += "-> ";
    for (const DatumId datum : graph.outputs(task)) text += name(datum) + ' ';
    text.back() = graph.outputs(task).empty() ? ' ' : '\n';
    if (graph.outputs(task).empty()) text += '\n';
  }
  return text;
}

}  // namespace espalier::support
