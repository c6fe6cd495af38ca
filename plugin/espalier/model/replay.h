#pragma once

#include <optional>
#include <span>
#include <vector>

#include "espalier/model/schedule.h"
#include "espalier/model/task_tree.h"

namespace espalier {

/// From `time` on, until the next point, `bytes` are in memory.
struct MemoryPoint {
  Seconds time = 0;
  Bytes bytes = 0;
  friend bool operator==(const MemoryPoint&, const MemoryPoint&) = default;
};

/// What happens when a schedule is run.
struct Replay {
  Bytes peak = 0;
  std::optional<TaskId> peak_task;  ///< whose start first reached the peak; none: no task
  Seconds peak_time = 0;
  Seconds makespan = 0;
  /// memory at each event, in order of time; several points may share one time
  std::vector<MemoryPoint> profile;
};

/// The only evaluator of schedules. When task i starts, m_i + f_i + r_i are added to
/// memory; when it ends, m_i and its children's outputs go. The outputs of roots and all
/// r stay to the end.
///
/// One task after the other: the task at position k of `order` runs from time k to k + 1.
///
/// @throws InvalidInput when `order` is not each task once, children before parents
/// @par Cost  O(n)
[[nodiscard]] Replay replay(const TaskTree& tree, std::span<const TaskId> order);

/// In time. At equal times, what ends goes before what starts; tasks of no duration run
/// between the two, one after the other, in schedule.sequence (empty: in postorder).
///
/// @throws InvalidInput when times are missing, not finite or end before they start, or
///                      when a task starts before a child has ended
/// @par Cost  O(n log n)
[[nodiscard]] Replay replay(const TaskTree& tree, const Schedule& schedule);

}  // namespace espalier
