#pragma once

#include <cstdint>
#include <vector>

#include "espalier/model/task_tree.h"

namespace espalier {

/// `count` consecutive workers from `first` on.
struct WorkerRange {
  std::int32_t first = 0;
  std::int32_t count = 0;
  [[nodiscard]] bool contains(std::int32_t worker) const {
    return worker >= first && worker < first + count;
  }
  friend bool operator==(const WorkerRange&, const WorkerRange&) = default;
};

/// Where each task should run: a preference for the policy, a partition for static modes.
using Mapping = std::vector<WorkerRange>;

/// When each task runs, from the start of the job: what a run has recorded, or what a
/// simulation predicts, at one flop a second and worker where no rate is known. `start`,
/// `end` and `share` are indexed by task.
struct Schedule {
  std::vector<Seconds> start, end;
  std::int32_t workers = 1;
  /// workers that each task used while it ran; 1 for sequential tasks. Empty: unknown.
  std::vector<double> share = {};
  /// all tasks in the order in which they started: it decides between tasks that took no
  /// time at one and the same time. Empty: postorder.
  std::vector<TaskId> sequence = {};
};

}  // namespace espalier
