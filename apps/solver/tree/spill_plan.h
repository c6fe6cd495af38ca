#pragma once

#include <span>

#include "espalier/model/traversal.h"
#include "espalier/parallel/make_plan.h"
#include "solver/symbolic/symbolic.h"
#include "solver/tree/assembly_tree.h"

namespace espalier::solver {

/// The order in which the nodes of a tree run: of a kind, which follows their sizes, or
/// one that is given and stays.
class NodeOrder {
 public:
  /// Not explicit: a kind is what most trees have.
  NodeOrder(OrderKind kind) : kind_(kind) {}
  /// @param given  outlives this
  explicit NodeOrder(std::span<const TaskId> given) : given_(given), is_given_(true) {}
  [[nodiscard]] Traversal of(const TaskTree& tasks) const;

 private:
  OrderKind kind_ = OrderKind::kLiu;
  std::span<const TaskId> given_;
  bool is_given_ = false;
};

/// Least bound under which the tree can run in such an order.
[[nodiscard]] Bytes least_bound(const TaskTree& tasks, const NodeOrder& order);

/// Chooses what leaves memory so that the tree fits in `bound`, and no more than that:
/// first the panels of the nodes that end first, whose writes have the most time; when
/// all of them are gone, contribution blocks, those first that would wait longest for
/// their parents. Nothing goes that is not here, and no contribution block that a shared
/// front is assembled of: others ask for it. Sets factor_at and contribution_at of the
/// nodes, and the tasks' sizes.
///
/// The fewer bytes are missing the fewer are written: the count of nodes is the least
/// with which the bound suffices, found by bisection since every further one lowers it or
/// leaves it.
///
/// @return bytes of the spill file; 0: everything stays in memory
/// @par Cost  O(log n) traversals of the tree
Bytes plan_spill(const Symbolic& symbolic, AssemblyTree& tree, const NodeOrder& order,
                 Bytes bound);

/// Sends everything to the file that can go there.
/// @return the least bound then: about the largest front
Bytes spill_everything(const Symbolic& symbolic, AssemblyTree& tree,
                       const NodeOrder& order);

}  // namespace espalier::solver
