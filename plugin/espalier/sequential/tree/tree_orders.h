#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "espalier/model/task_tree.h"
#include "espalier/model/traversal.h"

namespace espalier {

/// Number of an order of a tree: a line of tree_orders(). The values are those of the C
/// interface, ESPALIER_ORDER_…; 3 is taken there by an order of the caller's own. Orders
/// that no code names need no name here.
enum class OrderKind : std::int32_t {
  kLiu = 0,        ///< least peak of all orders
  kPostorder = 1,  ///< least peak of all postorders
  kParallel = 2    ///< inside the bound, of least simulated makespan: parallel_order()
};

/// One way to order a tree: all that the planner, the C interface, the solver and the
/// command line know of it.
struct TreeOrder {
  OrderKind kind;
  std::string_view name;  ///< of --order
  std::string_view help;  ///< "least peak of all orders"
  /// The order by itself. A bound below its peak is refused.
  Traversal (*sequential)(const TaskTree& tree);
  /// For several workers inside a larger bound parallel_order() takes its place.
  bool chosen_inside = false;
};

/// All of them, the first the one of least peak. A new order is a line here: see
/// docs/manual/add-an-algorithm.md.
[[nodiscard]] std::span<const TreeOrder> tree_orders();

/// @return null for a number that is none of theirs
[[nodiscard]] const TreeOrder* find_order(OrderKind kind);

/// @throws InvalidInput for a number that is none of theirs
[[nodiscard]] const TreeOrder& order_of(OrderKind kind);

/// The order by itself. @throws InvalidInput likewise
[[nodiscard]] Traversal sequential_order(const TaskTree& tree, OrderKind kind);

}  // namespace espalier
