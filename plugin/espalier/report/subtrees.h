#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "espalier/model/task_tree.h"

namespace espalier::report {

/// A few disjoint subtrees that hold most of the work: those that a picture colours.
struct Subtrees {
  std::vector<TaskId> roots;          ///< by decreasing work, ties by id
  std::vector<std::int32_t> of_task;  ///< index into `roots`; -1: above all of them
};

/// From the roots down: the subtree of most work makes room for its children as long as
/// there are at most `most` subtrees. Children of less than 3 % of the work are left
/// out, and a subtree stays whole where more than a quarter of all work would be left
/// out by the time it is cut.
///
/// @par Cost  O(n log n)
[[nodiscard]] Subtrees main_subtrees(const TaskTree& tree, std::size_t most = 7);

}  // namespace espalier::report
