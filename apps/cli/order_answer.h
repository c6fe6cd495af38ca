#pragma once

#include <string>

#include "cli/output.h"
#include "espalier/model/task_graph.h"
#include "espalier/sequential/dag/order_graph.h"

namespace espalier::cli {

/// What `espalier order` found, and in what time.
struct OrderAnswer {
  GraphOrder best;
  Seconds read_seconds = 0, search_seconds = 0;
  bool interrupted = false;
};

/// "searching: 12000 states, 1.2 GiB, at least 1.1 GiB"
[[nodiscard]] std::string describe(const OrderProgress& progress);

/// The sum of the sizes of all data.
[[nodiscard]] Bytes data_bytes(const TaskGraph& graph);

/// What the graph is, and what of its memory does not depend on an order.
void report_graph(Report& report, const std::string& file, const TaskGraph& graph);
/// The best order beside the one that the file has.
void report_answer(Report& report, const TaskGraph& graph, const OrderAnswer& answer);

}  // namespace espalier::cli
