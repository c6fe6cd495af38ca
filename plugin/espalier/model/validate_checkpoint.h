#pragma once

#include "espalier/model/checkpoint_schedule.h"
#include "espalier/model/validate.h"

namespace espalier {

/// The schedule reverses every step once, last first, from states that are where it says,
/// inside the slots of the levels and the bytes of the bound; it ends with nothing held;
/// and its figures are what it does: advances, reads, writes, cost, peak. No lower bound
/// exceeds the cost, and an optimum meets it.
///
/// Shares no code with the planners or with replay_checkpoint(): forward steps are
/// counted by step and costed at the end, and the bytes of a chain with sizes are added
/// up anew for every step that runs.
///
/// @par Cost  O(actions log slots), of a chain with sizes O(stages) a step; memory
///            O(steps)
[[nodiscard]] Violations validate_checkpoint(const CheckpointSchedule& schedule);

/// The same for other actions than those of the schedule.
[[nodiscard]] Violations validate_checkpoint(const CheckpointSchedule& schedule,
                                             ActionStream& actions);

}  // namespace espalier
