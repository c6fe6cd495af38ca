#pragma once

#include "espalier/model/validate.h"
#include "espalier/sequential/out_of_core/out_of_core_plan.h"

namespace espalier {

/// The order is each task once, children first; every eviction is of bytes that wait in
/// memory then, and comes back when its reader starts, or never where there is none;
/// memory never exceeds the bound; and the sums of the plan are those of its evictions.
///
/// Shares no code with the planners or with replay_out_of_core(): memory is the sum of
/// the lifetimes of all data less the absences of what has left, by position in the
/// order.
/// @par Cost  O(n + evictions log evictions)
/// @par Test  ValidateOutOfCore.*
[[nodiscard]] Violations validate(const TaskTree& tree, const OutOfCorePlan& plan);

}  // namespace espalier
