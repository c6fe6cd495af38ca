#pragma once

#include <optional>

#include "espalier/model/schedule.h"
#include "espalier/model/task_graph.h"
#include "espalier/model/validate.h"

namespace espalier {

/// Times are finite and in order, no operator starts before those have ended that write
/// what it reads, no more operators run at once than there are workers, and memory never
/// exceeds `memory_bound` if one is given.
///
/// At equal times, what ends goes before what starts; operators of no duration run
/// between the two, one after the other, in schedule.sequence (empty: by id). Shares no
/// code with the planners: memory is the sum of the lifetimes of all data that are alive.
/// @par Cost  O(n log n) for n operators, data and reads
/// @par Test  ValidateGraphSchedule.*
[[nodiscard]] Violations validate(const TaskGraph& graph, const Schedule& schedule,
                                  std::optional<Bytes> memory_bound = std::nullopt);

}  // namespace espalier
