#pragma once

#include <memory>
#include <vector>

#include "espalier/model/schedule.h"
#include "espalier/model/task_tree.h"

namespace espalier {

/// No schedule on these workers inside this bound takes less than the largest of them.
/// At one unit of work (flop) a second and worker: divide by a rate for seconds.
struct LowerBounds {
  Seconds work = 0;           ///< W / P
  Seconds critical_path = 0;  ///< heaviest path from a leaf to a root
  Seconds memory_area = 0;    ///< (1/M) sum of MemReq(i) w_i; 0 without a bound
  [[nodiscard]] Seconds best() const;
};

/// What the policy follows and what a user reads: a tree, a proof that it can finish
/// inside the bound, where its tasks should run, and the figures that this promises.
struct Plan {
  std::shared_ptr<const TaskTree> tree;
  std::vector<TaskId> witness;    ///< sequential order whose peak is at most the bound
  Mapping mapping;                ///< a worker range per task
  std::vector<Seconds> priority;  ///< weight of the path from the task to its root
  std::int32_t workers = 1;
  Bytes memory_bound = 0;
  Bytes witness_peak = 0;  ///< peak of the witness alone on the machine
  Bytes least_bytes = 0;   ///< least bound for which a plan exists (Liu)
  Schedule schedule;       ///< the simulated run at one flop a second and worker
  Bytes peak = 0;          ///< of the simulated run
  Seconds makespan = 0;    ///< of the simulated run at one flop a second and worker
  LowerBounds lower_bounds;
};

}  // namespace espalier
