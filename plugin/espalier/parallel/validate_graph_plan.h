#pragma once

#include "espalier/model/validate.h"
#include "espalier/parallel/plan_graph.h"

namespace espalier {

/// The simulated run is a valid schedule of the graph whose peak is exactly the plan's,
/// inside the bound, as is the peak of the witness; the makespan is its last end, and no
/// lower bound is exceeded. Shares no code with the planners.
/// @par Cost  that of validate(graph, schedule)
/// @par Test  ValidateGraphPlan.*
[[nodiscard]] Violations validate(const TaskGraph& graph, const GraphPlan& plan);

}  // namespace espalier
