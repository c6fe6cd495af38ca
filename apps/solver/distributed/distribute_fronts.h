#pragma once

#include <vector>

#include "espalier/model/schedule.h"
#include "espalier/solver/options.h"
#include "solver/distributed/front_distribution.h"
#include "solver/symbolic/symbolic.h"
#include "solver/tree/assembly_tree.h"

namespace espalier::solver {

/// Gives the tiles of shared nodes to the processes of their groups, so that every
/// process keeps as much of the factor as the others, and while a front is assembled as
/// much of its children's contribution blocks.
///
/// Block columns with one owner each: going up the tree, blocks are dealt out in turn,
/// but fewer to a process that will have more than its fellows.
///
/// Grids of a x b: every group of rows (TileShape) is a strip, and the block
/// columns whose diagonal blocks are in strip s are in the grid's column floor(s / a) mod
/// b. So every process has a diagonal tile among a b successive ones and needs a + b - 1
/// strips of them.
///
/// @param groups   of each node, nested: children's inside their parent's
/// @par Cost  O(nodes + blocks of shared nodes x processes of their groups), by volume
///            also O(tiles x processes x divisors) for fronts of several groups of rows
[[nodiscard]] FrontDistribution distribute_fronts(const Symbolic& symbolic,
                                                  const AssemblyTree& tree,
                                                  std::int32_t processes,
                                                  std::vector<WorkerRange> groups,
                                                  FrontGrids grids = FrontGrids::kNever);

/// Bytes of factored tiles that the process of a shared front's group receives that
/// receives most.
[[nodiscard]] Bytes most_panel_bytes(const Symbolic& symbolic, const AssemblyTree& tree,
                                     const FrontDistribution& distribution,
                                     std::int32_t node);

}  // namespace espalier::solver
