#pragma once

#include <optional>

#include "espalier/model/plan.h"
#include "espalier/model/schedule.h"
#include "espalier/model/task_tree.h"
#include "espalier/model/traversal.h"
#include "espalier/model/violations.h"

namespace espalier {

// Independent of every planner and of replay(): memory is the sum of the lifetimes of all
// data that are alive, not a running balance of starts and ends.

/// Each task once, children before parents, and `peak` exact.
[[nodiscard]] Violations validate(const TaskTree& tree, const Traversal& traversal);

/// Times are finite and in order, no task starts before its children have ended, the
/// shares of running tasks never exceed the workers (not checked when `share` is empty),
/// and memory never exceeds `memory_bound` if one is given. Ties in time as in replay().
/// Holds for simulated schedules and for recorded traces.
[[nodiscard]] Violations validate(const TaskTree& tree, const Schedule& schedule,
                                  std::optional<Bytes> memory_bound = std::nullopt);

/// The witness is a valid traversal of the stated peak inside the bound, worker ranges
/// lie inside the workers, priorities never rise towards the root, the simulated run is a
/// valid schedule inside the bound, and the figures agree: least_bytes <= witness_peak <=
/// bound, peak <= bound, and no lower bound is exceeded.
[[nodiscard]] Violations validate(const Plan& plan);

}  // namespace espalier
