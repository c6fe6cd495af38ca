#pragma once

#include <cstdint>
#include <memory>

#include "espalier/model/plan.h"
#include "espalier/model/run_record.h"

namespace espalier::policy {

struct ReplayOptions {
  /// Durations are those of the processor, not of the clock: for a machine that others
  /// used at the same time.
  bool processor_time = false;
};

/// What a recorded run would have been on the plan's workers.
struct ReplayedRun {
  std::int32_t workers = 1;
  Seconds makespan = 0;
  Seconds busy = 0;       ///< in tasks, with their overhead, summed over workers
  Bytes peak = 0;         ///< of what the tasks took, as they took it
  Bytes booked_peak = 0;  ///< of what the gate booked
  std::int64_t held_tasks = 0, stolen_tasks = 0;
};

/// Runs the tasks of a record again, in simulated time, through the gate and the
/// placement of the policy: the same TreeGate, Placement and Job that a scheduler of
/// StarPU's uses.
///
/// A task is submitted when the tasks that it waits for have ended, and bound to its
/// node; a node closes when its last task has ended. Idle workers take tasks in the order
/// of their ids. A task takes its recorded time and the record's overhead, on one worker;
/// it takes the most memory that it ever had when it starts, and gives back what it did
/// not keep when it ends. What is not modelled: that workers share memory bandwidth,
/// caches and the clock rate of a core.
///
/// @param plan  of the record's nodes
/// @throws Error where the tasks never all run: the record has no task for some node that
///         others wait for
/// @par Cost  O((tasks + waits) log) and what gate and placement take
/// @par Test  ReplayRun.*
[[nodiscard]] ReplayedRun replay_run(const RunRecord& run,
                                     const std::shared_ptr<const Plan>& plan,
                                     const ReplayOptions& options = {});

}  // namespace espalier::policy
