#pragma once

#include <cstdint>
#include <span>

#include "espalier/model/schedule.h"
#include "espalier/model/task_tree.h"

namespace espalier::report {

/// What one walk through a run tells, in order of time. Bytes in memory change at
/// started() and ended() as replay() says, and in its order.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void started(TaskId /*task*/, Seconds /*time*/) {}
  virtual void ended(TaskId /*task*/, Seconds /*time*/) {}
  /// `worker` has worked on `task`; called at the end, so by increasing `to`.
  virtual void worked(TaskId /*task*/, std::int32_t /*worker*/, Seconds /*from*/,
                      Seconds /*to*/) {}
  /// Nothing has changed between the two: `busy` workers worked, and the tasks that
  /// could have run (children ended) and had not started can use `wanted` workers.
  virtual void passed(Seconds /*from*/, Seconds /*to*/, std::int32_t /*busy*/,
                      std::int64_t /*wanted*/) {}
};

struct SweepOptions {
  std::span<const double> max_workers;   ///< as in PlanOptions, where share is unknown
  std::span<const Seconds> priority;     ///< as in SimulationOptions
  std::span<const WorkerRange> mapping;  ///< preferred workers; empty: any
};

/// Walks through `schedule` and says which workers ran which task.
///
/// A schedule has the times of the tasks. Their workers follow from the rule of
/// simulate(): at each instant the running task of highest priority that can use more
/// workers takes as many of the idle ones as it can use, then the next; every task that
/// starts has at least one. Of idle workers a task takes those of its range first, then
/// those of least number. Tasks of no duration have no worker; where they have made the
/// simulation hand out workers twice in one instant, a task that starts may have to take
/// its worker from the one that has most.
///
/// @throws InvalidInput as replay() and useful_workers(), or when more tasks run at once
///                      than there are workers
/// @par Cost  O((n + s) (log n + P/64)), s the calls of worked()
/// @par Test  RunSweep.WorkersDoTheWorkOfEachTask
void sweep(const TaskTree& tree, const Schedule& schedule, const SweepOptions& options,
           RunObserver& observer);

}  // namespace espalier::report
