#pragma once

#include <vector>

#include "espalier/model/schedule.h"
#include "solver/distributed/front_distribution.h"
#include "solver/symbolic/symbolic.h"
#include "solver/tree/assembly_tree.h"

namespace espalier::solver {

/// Gives the block columns of shared nodes to the processes of their groups, so that
/// every process keeps as much of the factor as the others, and while a front is
/// assembled as much of its children's contribution blocks: going up the tree, blocks are
/// dealt out in turn, but fewer to a process that will have more than its fellows.
///
/// @param groups   of each node, nested: children's inside their parent's
/// @par Cost  O(nodes + blocks of shared nodes x processes of their groups)
[[nodiscard]] FrontDistribution distribute_fronts(const Symbolic& symbolic,
                                                  const AssemblyTree& tree,
                                                  std::int32_t processes,
                                                  std::vector<WorkerRange> groups);

}  // namespace espalier::solver
