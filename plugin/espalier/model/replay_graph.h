#pragma once

#include <span>

#include "espalier/model/replay.h"
#include "espalier/model/task_graph.h"

namespace espalier {

/// What happens when the operators run one after the other: the one at position k of
/// `order` from time k to k + 1. The only evaluator of orders of a graph; memory is that
/// of task_graph.h. The profile begins with the initial bytes at time 0, then has two
/// points an operator: while it runs and after it.
///
/// @throws InvalidInput when `order` is not each operator once, after those that write
///                      what it reads; the message names operator and datum
/// @par Cost  O(operators + data + reads)
/// @par Test  GraphReplay.MatchesTheDefinitionOnRandomOrders
[[nodiscard]] Replay replay(const TaskGraph& graph, std::span<const TaskId> order);

}  // namespace espalier
