#pragma once

#include <optional>

#include "espalier/model/task_graph.h"
#include "espalier/model/task_tree.h"

namespace espalier {

/// The graph as a task tree, when it is one: the data that an operator writes and that
/// are read are read by one other operator alone, and what is there from the start stays
/// to the end. Task i is operator i. Orders have the same peaks but for the data that are
/// there from the start, which the tree leaves out.
/// @par Cost  O(n + m)
/// @par Test  InForest.HasThePeaksOfTheGraph
[[nodiscard]] std::optional<TaskTree> in_forest(const TaskGraph& graph);

}  // namespace espalier
