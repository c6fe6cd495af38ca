#include "espalier/parallel/tree_orders.h"

#include <fmt/format.h>

#include <algorithm>

#include "espalier/model/error.h"
#include "espalier/parallel/parallel_order.h"
#include "espalier/sequential/tree/best_postorder.h"
#include "espalier/sequential/tree/liu_traversal.h"

namespace espalier {
namespace {

Traversal best_simulated(const TaskTree& tree, const SequentialOrders& orders,
                         const OrderQuestion& question) {
  return parallel_order(tree, orders,
                        {question.workers, question.memory_bound, question.max_workers});
}

constexpr TreeOrder kOrders[] = {
    {OrderKind::kLiu, "liu", "least peak of all orders", liu_traversal},
    {OrderKind::kPostorder, "postorder", "least peak of all postorders", best_postorder},
    {OrderKind::kParallel, "parallel",
     "inside the bound, of several, the one whose simulated run ends first",
     liu_traversal, best_simulated},
};

const TreeOrder& order_of(OrderKind kind) {
  if (const TreeOrder* order = find_order(kind)) return *order;
  throw InvalidInput(
      fmt::format("{} is the number of no order", static_cast<std::int32_t>(kind)));
}

}  // namespace

std::span<const TreeOrder> tree_orders() { return kOrders; }

const TreeOrder* find_order(OrderKind kind) {
  const auto found = std::ranges::find(kOrders, kind, &TreeOrder::kind);
  return found == std::end(kOrders) ? nullptr : found;
}

const TreeOrder* find_order(std::string_view name) {
  const auto found = std::ranges::find(kOrders, name, &TreeOrder::name);
  return found == std::end(kOrders) ? nullptr : found;
}

Traversal sequential_order(const TaskTree& tree, OrderKind kind) {
  return order_of(kind).sequential(tree);
}

Traversal sequential_order(const TaskTree& tree, OrderKind kind,
                           const SequentialOrders& orders) {
  const TreeOrder& order = order_of(kind);
  if (order.sequential == &liu_traversal) return orders.liu;
  if (order.sequential == &best_postorder) return orders.postorder;
  return order.sequential(tree);
}

Traversal order_inside(const TaskTree& tree, OrderKind kind,
                       const SequentialOrders& orders, const OrderQuestion& question) {
  const TreeOrder& order = order_of(kind);
  return order.inside != nullptr ? order.inside(tree, orders, question)
                                 : sequential_order(tree, kind, orders);
}

}  // namespace espalier
