#pragma once

#include <cstdint>
#include <vector>

#include "espalier/sequential/downsets/downset_block.h"

namespace espalier {

/// By task: the first task that all ways from it to the tasks without successors lead
/// through, or kNoBlockTask.
///
/// In a graph without cycles it is the nearest common ancestor of the successors in the
/// tree of these answers, found with two upward links a task, to the parent and further
/// [Mye83].
/// @par Cost  O(m log n)
/// @par Test  PostDominators.MatchTheDefinition
[[nodiscard]] IdVector<BlockTaskId, BlockTaskId> post_dominators(const BlockIndex& block);

}  // namespace espalier
