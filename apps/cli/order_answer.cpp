#include "cli/order_answer.h"

#include <fmt/format.h>

#include <algorithm>

#include "espalier/model/replay_graph.h"

namespace espalier::cli {
namespace {

// The order of the ids, when that is an order; the first one else.
bool ids_are_an_order(const TaskGraph& graph) {
  return std::ranges::is_sorted(graph.topological_order());
}

}  // namespace

std::string describe(const OrderProgress& progress) {
  if (progress.best_bytes == 0) return "decomposing";
  return fmt::format("searching: {} states, {}, at least {}", progress.states,
                     format_size(progress.best_bytes),
                     format_size(progress.lower_bound_bytes));
}

Bytes data_bytes(const TaskGraph& graph) {
  Bytes bytes = 0;
  for (std::size_t i = 0; i < graph.data(); ++i) bytes += graph.size(datum_id(i));
  return bytes;
}

void report_graph(Report& report, const std::string& file, const TaskGraph& graph) {
  Bytes largest = 0;
  for (const TaskId task : graph.topological_order())
    largest = std::max(largest, graph.memory_requirement(task));
  report.text("input", "input", file);
  report.count("operators", "operators", static_cast<std::int64_t>(graph.size()));
  report.count("tensors", "tensors", static_cast<std::int64_t>(graph.data()));
  report.heading("Memory");
  report.bytes("tensor_bytes", "all tensors", data_bytes(graph));
  report.bytes("initial_bytes", "there from the start", graph.initial_bytes());
  report.bytes("final_bytes", "there at the end", graph.final_bytes());
  report.bytes("largest_operator_bytes", "the largest operator", largest);
}

void report_answer(Report& report, const TaskGraph& graph, const OrderAnswer& answer) {
  const GraphOrder& best = answer.best;
  const bool in_order = ids_are_an_order(graph);
  report.flag("file_order", in_order ? "" : "file is in an order", in_order);
  report.bytes("file_order_bytes",
               in_order ? "peak of the order in the file" : "peak of the first order",
               replay(graph, graph.topological_order()).peak);
  report.bytes("least_bytes", "peak of the best order found", best.least_bytes);
  report.bytes("lower_bound_bytes", "no order needs less than", best.lower_bound_bytes);
  report.flag("proved", "proved the least", best.proved());
  report.gap(best.least_bytes, best.lower_bound_bytes);
  report.heading("Search");
  report.text("method", "method", name(best.method));
  report.count("states", "states", best.states);
  report.flag("stopped", "stopped by a limit", best.stopped && !answer.interrupted);
  report.flag("interrupted", answer.interrupted ? "interrupted" : "", answer.interrupted);
  report.seconds("read_seconds", "read", answer.read_seconds);
  report.seconds("search_seconds", "searched", answer.search_seconds);
}

}  // namespace espalier::cli
