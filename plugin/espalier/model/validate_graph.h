#pragma once

#include "espalier/model/task_graph.h"
#include "espalier/model/traversal.h"
#include "espalier/model/validate.h"

namespace espalier {

/// Each operator once, after those that write what it reads, and `peak` exact. Shares no
/// code with the planners or with replay(): the peak is that of the sum of the lifetimes
/// of all data and workspaces, by position in the order.
/// @par Cost  O(operators + data + reads)
[[nodiscard]] Violations validate(const TaskGraph& graph, const Traversal& traversal);

}  // namespace espalier
