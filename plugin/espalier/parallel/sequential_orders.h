#pragma once

#include "espalier/model/task_tree.h"
#include "espalier/model/traversal.h"
#include "espalier/sequential/tree/tree_orders.h"

namespace espalier {

/// Both orders that plans are made of. They take most of the time of planning, and depend
/// neither on the workers nor on the bound: whoever makes several plans of one tree
/// computes them once.
struct SequentialOrders {
  Traversal liu;        ///< least peak of all orders
  Traversal postorder;  ///< least peak of all postorders
};

/// @par Cost  O(n log n)
[[nodiscard]] SequentialOrders sequential_orders(const TaskTree& tree);

/// sequential_order() for a caller who has these: they are not computed again.
/// @throws InvalidInput for a kind that is none of tree_orders()
[[nodiscard]] Traversal sequential_order(const TaskTree& tree, OrderKind kind,
                                         const SequentialOrders& orders);

}  // namespace espalier
