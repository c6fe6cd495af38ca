#pragma once

#include "espalier/parallel/make_plan.h"
#include "solver/symbolic/symbolic.h"
#include "solver/tree/assembly_tree.h"

namespace espalier::solver {

/// Least bound under which the tree can run in an order of this kind.
[[nodiscard]] Bytes least_bound(const TaskTree& tasks, OrderKind order);

/// Chooses what leaves memory so that the tree fits in `bound`, and no more than that:
/// first the panels of the nodes that end first, whose writes have the most time; when
/// all of them are gone, contribution blocks, those first that would wait longest for
/// their parents. Sets factor_at and contribution_at of the nodes, and the tasks' sizes.
///
/// The fewer bytes are missing the fewer are written: the count of nodes is the least
/// with which the bound suffices, found by bisection since every further one lowers it or
/// leaves it.
///
/// @return bytes of the spill file; 0: everything stays in memory
/// @par Cost  O(log n) traversals of the tree
Bytes plan_spill(const Symbolic& symbolic, AssemblyTree& tree, OrderKind order,
                 Bytes bound);

/// Sends everything to the file that can go there.
/// @return the least bound then: about the largest front
Bytes spill_everything(const Symbolic& symbolic, AssemblyTree& tree, OrderKind order);

}  // namespace espalier::solver
