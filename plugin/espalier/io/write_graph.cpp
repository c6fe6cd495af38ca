#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_set>

#include "espalier/io/graph_io.h"
#include "espalier/io/text_file.h"
#include "espalier/io/text_input.h"
#include "espalier/model/error.h"

namespace espalier {
namespace {

// Names of all items of a kind, made up for those that have none.
template <class Id>
class Names {
 public:
  Names(const TaskGraph& graph, std::size_t count) : graph_(graph) {
    bool all_named = true;
    for (std::size_t i = 0; i < count; ++i)
      all_named = all_named && !graph.name(static_cast<Id>(i)).empty();
    if (all_named) return;
    for (std::size_t i = 0; i < count; ++i) taken_.insert(graph.name(static_cast<Id>(i)));
  }

  [[nodiscard]] std::string operator()(Id id) const {
    if (!graph_.name(id).empty()) return std::string(graph_.name(id));
    std::string name = fmt::format("#{}", index(id));
    while (taken_.contains(name)) name += '#';
    return name;
  }

 private:
  const TaskGraph& graph_;
  std::unordered_set<std::string_view> taken_;  // when some have no name
};

std::string json_text(const std::string& name) {
  return nlohmann::json(name).dump(-1, ' ', false,
                                   nlohmann::json::error_handler_t::replace);
}

std::string json_list(const Names<DatumId>& names, std::span<const DatumId> data) {
  std::string list;
  for (const DatumId datum : data)
    list += (list.empty() ? "" : ", ") + json_text(names(datum));
  return fmt::format("[{}]", list);
}

void write_json_operator(TextOutput& out, const TaskGraph& graph,
                         const Names<DatumId>& names, TaskId task) {
  out.print("    {{");
  if (!graph.name(task).empty())
    out.print("\"name\": {}, ", json_text(std::string(graph.name(task))));
  out.print("\"inputs\": {}, \"outputs\": {}", json_list(names, graph.inputs(task)),
            json_list(names, graph.outputs(task)));
  if (graph.workspace(task) != 0) out.print(", \"workspace\": {}", graph.workspace(task));
  if (graph.work(task) != 0) out.print(", \"work\": {}", graph.work(task));
  out.line("}}{}", index(task) + 1 < graph.size() ? "," : "");
}

// The name between quotes; see graph_io.h for what cannot be.
std::string dot_text(const std::string& name) {
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char next = i + 1 < name.size() ? name[i + 1] : '"';
    if (name[i] == '\\' && next == '\\') {
      text += name[i++];  // a pair stays one
    } else if (name[i] == '\\' && (next == '"' || next == '\n')) {
      throw InvalidInput(
          fmt::format("{}: DOT has no way to write the name", excerpt(name)));
    }
    if (name[i] == '"') text += '\\';
    text += name[i];
  }
  return fmt::format("\"{}\"", text);
}

void check_for_dot(const TaskGraph& graph) {
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const TaskId task = task_id(i);
    if (graph.outputs(task).size() != 1)
      throw InvalidInput(fmt::format("{} writes {} data; in DOT every node writes one",
                                     label(graph, task), graph.outputs(task).size()));
  }
  for (std::size_t d = 0; d < graph.data(); ++d) {
    if (!graph.producer(datum_id(d)))
      throw InvalidInput(
          fmt::format("{} has no producer; in DOT a node writes every datum",
                      label(graph, datum_id(d))));
  }
}

void write_dot_node(TextOutput& out, const TaskGraph& graph, const std::string& name,
                    TaskId task) {
  const DatumId datum = graph.outputs(task).front();
  out.print("  {} [size={}", name, graph.size(datum));
  if (graph.workspace(task) != 0) out.print(" workspace={}", graph.workspace(task));
  if (graph.work(task) != 0) out.print(" work=\"{}\"", graph.work(task));
  if (graph.kept(datum)) out.print(" keep=true");
  out.line("]");
}

}  // namespace

void write_graph_json(std::ostream& stream, const TaskGraph& graph) {
  TextOutput out(stream);
  const Names<DatumId> names(graph, graph.data());
  std::vector<DatumId> kept;
  out.line("{{\n  \"tensors\": {{");
  for (std::size_t d = 0; d < graph.data(); ++d) {
    const DatumId datum = datum_id(d);
    out.line("    {}: {{\"size\": {}}}{}", json_text(names(datum)), graph.size(datum),
             d + 1 < graph.data() ? "," : "");
    if (graph.kept(datum)) kept.push_back(datum);
  }
  out.line("  }},\n  \"ops\": [");
  for (std::size_t i = 0; i < graph.size(); ++i)
    write_json_operator(out, graph, names, task_id(i));
  out.line("  ],\n  \"keep\": {}\n}}", json_list(names, kept));
  out.flush();
}

void write_graph_json(const std::string& path, const TaskGraph& graph) {
  write_file(path, [&](std::ostream& out) { write_graph_json(out, graph); });
}

void write_graph_dot(std::ostream& stream, const TaskGraph& graph) {
  check_for_dot(graph);
  TextOutput out(stream);
  const Names<TaskId> names(graph, graph.size());
  out.line("digraph {{");
  for (std::size_t i = 0; i < graph.size(); ++i)
    write_dot_node(out, graph, dot_text(names(task_id(i))), task_id(i));
  for (std::size_t i = 0; i < graph.size(); ++i) {
    for (const DatumId datum : graph.inputs(task_id(i)))
      out.line("  {} -> {}", dot_text(names(*graph.producer(datum))),
               dot_text(names(task_id(i))));
  }
  out.line("}}");
  out.flush();
}

void write_graph_dot(const std::string& path, const TaskGraph& graph) {
  write_file(path, [&](std::ostream& out) { write_graph_dot(out, graph); });
}

void write_order(const std::string& path, const TaskGraph& graph,
                 std::span<const TaskId> order) {
  write_file(path, [&](std::ostream& stream) {
    TextOutput out(stream);
    for (const TaskId task : order) {
      const std::string_view name = graph.name(task);
      if (name.find_first_of("\r\n") != std::string_view::npos)
        throw FileError(path, 0,
                        fmt::format("the name {} is more than a line", excerpt(name)));
      if (name.empty()) {
        out.line("{}", index(task));
      } else {
        out.line("{}", name);
      }
    }
    out.flush();
  });
}

}  // namespace espalier
