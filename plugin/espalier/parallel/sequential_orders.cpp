#include "espalier/parallel/sequential_orders.h"

#include "espalier/sequential/tree/best_postorder.h"
#include "espalier/sequential/tree/liu_traversal.h"

namespace espalier {

SequentialOrders sequential_orders(const TaskTree& tree) {
  return {liu_traversal(tree), best_postorder(tree)};
}

Traversal sequential_order(const TaskTree& tree, OrderKind kind,
                           const SequentialOrders& orders) {
  const auto make = order_of(kind).sequential;
  if (make == &liu_traversal) return orders.liu;
  if (make == &best_postorder) return orders.postorder;
  return make(tree);
}

}  // namespace espalier
