#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "espalier/model/task_graph.h"

namespace espalier::report {

/// An order of a graph and what its page says about it.
struct GraphPage {
  const TaskGraph* graph = nullptr;
  std::string title;              ///< need not be UTF-8
  std::span<const TaskId> order;  ///< the answer
  /// to compare with: the order of the file; empty: none
  std::span<const TaskId> file_order;
  Bytes lower_bound_bytes = 0;                             ///< no order needs less
  std::vector<std::pair<std::string, std::string>> facts;  ///< as in PlanPage
};

/// What the page draws, as one JSON object: memory over the order (and over that of the
/// file), what is in memory at the peak, the operators that need most. No tree, no
/// workers. docs/manual/report.md has the keys.
/// @throws InvalidInput when an order is none of the graph
[[nodiscard]] std::string data_of(const GraphPage& page);

/// Writes the page. @throws FileError, and InvalidInput as data_of()
void write_page(const std::string& path, const GraphPage& page);

}  // namespace espalier::report
