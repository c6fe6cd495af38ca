#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "espalier/model/schedule.h"
#include "espalier/parallel/admission.h"

namespace espalier {

struct SimulationOptions {
  std::int32_t workers = 1;
  std::span<const double> max_workers;  ///< as in PlanOptions; empty: one worker a task
  std::span<const Seconds> priority;    ///< highest first; empty: root_path_times()
  /// Several pools of `workers` each, 0 … pools-1: the pool that a task runs in. Empty:
  /// all in one.
  std::span<const std::int32_t> pool = {};
  std::int32_t pools = 1;
  /// of each task, from its start to when it can use workers; empty: none
  std::span<const Seconds> delay = {};
};

struct Simulation {
  Schedule schedule;  ///< at one unit of work a second and worker
  Bytes peak = 0;     ///< of what tasks use; what admission books is not counted
  Seconds makespan = 0;
  std::vector<Bytes> pool_peak;  ///< as `peak`, of each pool
};

/// Runs the tree on P equal workers, event by event.
///
/// Sharing: whenever workers are idle, the admitted task of highest priority (ties:
/// smallest id) that has fewer workers than it can use takes as many of them as it can
/// use, then the next. A task never gives a worker back before it ends. A task can use
/// max_workers[i] workers, the last one in part, and advances by one unit of work a
/// second for each. With one worker a task this is list scheduling. The policy's workers
/// also leave a front between two tiles for one of higher priority, which this model
/// leaves out: its makespans err on the safe side.
///
/// With several pools each does so for the tasks that run in it, and one clock and one
/// admission for all. A task with a delay starts when it is admitted: it has its memory
/// while it waits, and no worker.
///
/// Tasks that end at the same time end in order of id, before any other starts.
///
/// @throws InvalidInput for workers < 1 and as useful_workers(), priorities, pools or
///                      delays of another length than the tree, a pool out of range or a
///                      delay that is negative or not finite; Error when tasks are left
///                      and none may start
/// @par Cost  O((n + P) log n) beside admission: each task is saturated with workers
///            once, and each instant leaves at most one in between
[[nodiscard]] Simulation simulate(const TaskTree& tree, Admission& admission,
                                  const SimulationOptions& options);

}  // namespace espalier
