#include "espalier/sequential/tree/tree_orders.h"

#include <fmt/format.h>

#include <algorithm>

#include "espalier/model/error.h"
#include "espalier/sequential/tree/best_postorder.h"
#include "espalier/sequential/tree/heaviest_first.h"
#include "espalier/sequential/tree/liu_traversal.h"

namespace espalier {
namespace {

constexpr TreeOrder kOrders[] = {
    {OrderKind::kLiu, "liu", "least peak of all orders", liu_traversal},
    {OrderKind::kPostorder, "postorder", "least peak of all postorders", best_postorder},
    {OrderKind::kParallel, "parallel",
     "of several inside the bound, whose simulated run ends first", liu_traversal, true},
    {OrderKind{4}, "heaviest-first", "most work first, whatever the memory",
     heaviest_first},
};

}  // namespace

std::span<const TreeOrder> tree_orders() { return kOrders; }

const TreeOrder* find_order(OrderKind kind) {
  const auto found = std::ranges::find(kOrders, kind, &TreeOrder::kind);
  return found == std::end(kOrders) ? nullptr : found;
}

const TreeOrder& order_of(OrderKind kind) {
  if (const TreeOrder* order = find_order(kind)) return *order;
  throw InvalidInput(
      fmt::format("{} is the number of no order", static_cast<std::int32_t>(kind)));
}

Traversal sequential_order(const TaskTree& tree, OrderKind kind) {
  return order_of(kind).sequential(tree);
}

}  // namespace espalier
