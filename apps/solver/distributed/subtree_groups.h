#pragma once

#include <cstdint>
#include <vector>

#include "espalier/model/schedule.h"
#include "espalier/model/task_tree.h"

namespace espalier::solver {

/// Cuts a tree into subtrees for single processes and a top that all share [GN89]: while
/// the subtrees, packed by decreasing work onto the least loaded process, leave one with
/// more than `most` of the W/P, the heaviest one gives its root to the top. What the top
/// has is for levelling, of work and of memory: few nodes are shared, and few messages
/// sent, where memory does not ask for more.
///
/// @param may_share  of each task; the heaviest subtree that may not ends the cutting
/// @return the processes of each task: one, or all of them
/// @throws InvalidInput for processes < 1
/// @par Cost  O(n (log n + log P))
[[nodiscard]] std::vector<WorkerRange> subtree_groups(const TaskTree& tree,
                                                      std::int32_t processes,
                                                      const std::vector<bool>& may_share,
                                                      double most);

}  // namespace espalier::solver
