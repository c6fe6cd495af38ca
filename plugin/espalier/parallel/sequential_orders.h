#pragma once

#include "espalier/model/task_tree.h"
#include "espalier/model/traversal.h"

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

}  // namespace espalier
