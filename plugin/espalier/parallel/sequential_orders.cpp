#include "espalier/parallel/sequential_orders.h"

#include "espalier/sequential/tree/best_postorder.h"
#include "espalier/sequential/tree/liu_traversal.h"

namespace espalier {

SequentialOrders sequential_orders(const TaskTree& tree) {
  return {liu_traversal(tree), best_postorder(tree)};
}

}  // namespace espalier
