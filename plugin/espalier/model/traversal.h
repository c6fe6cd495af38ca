#pragma once

#include <vector>

#include "espalier/model/task_tree.h"

namespace espalier {

/// A sequential order of all tasks, children before parents, and its peak: the most bytes
/// that are in memory at once when the tasks run one after the other in this order.
struct Traversal {
  std::vector<TaskId> order;
  Bytes peak = 0;
};

}  // namespace espalier
