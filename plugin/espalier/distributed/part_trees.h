#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "espalier/distributed/distribute.h"
#include "espalier/model/task_tree.h"

namespace espalier {

/// What process p sees of a distribution: the parts of tasks at p, as a task tree.
///
/// A part is a task at a process that owns pieces of it or of its children. Its f, r and
/// m are those of TaskCut::part(), its work is in proportion to its pieces: where a
/// process owns none and has no output of the children either, all of these are 0, and
/// the part is there for the task to wait for its children. The parent of a part is the
/// part of the task's parent at the same process, if it is there. Parts are numbered in
/// witness order, so that 0, 1, 2, … is the witness of p.
struct PartTree {
  TaskTree tree;
  std::vector<TaskId> task;  ///< that each part is a part of
};

/// Of all processes.
/// @throws OverflowError when parts and buffers of a process leave the 64-bit range
/// @par Cost  O(n + parts)
[[nodiscard]] std::vector<PartTree> part_trees(const TaskTree& tree,
                                               const Distribution& distribution);

/// The order 0, 1, 2, … of a part tree.
[[nodiscard]] std::vector<TaskId> witness_of(const PartTree& parts);

}  // namespace espalier
