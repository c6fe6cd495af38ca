#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "espalier/model/task_tree.h"
#include "espalier/model/traversal.h"
#include "espalier/parallel/sequential_orders.h"

namespace espalier {

/// Number of an order of a tree: a line of tree_orders(). The values are those of the C
/// interface, ESPALIER_ORDER_…; 3 is taken there by an order of the caller's own. Orders
/// that no code names need no name here.
enum class OrderKind : std::int32_t {
  kLiu = 0,        ///< least peak of all orders
  kPostorder = 1,  ///< least peak of all postorders
  kParallel = 2    ///< inside the bound, of least simulated makespan: parallel_order()
};

/// What an order may depend on beside the tree.
struct OrderQuestion {
  std::int32_t workers = 1;
  Bytes memory_bound = 0;                    ///< at least the peak of `sequential`
  std::span<const double> max_workers = {};  ///< as in PlanOptions
};

/// One way to order a tree: all that the planner, the C interface, the solver and the
/// command line know of it.
struct TreeOrder {
  OrderKind kind;
  std::string_view name;  ///< of --order
  std::string_view help;  ///< "least peak of all orders": goes into a sentence
  /// The order by itself. A bound below its peak is refused.
  Traversal (*sequential)(const TaskTree& tree);
  /// The order for several workers inside a bound, of no larger peak than that; null: the
  /// same as `sequential`.
  Traversal (*inside)(const TaskTree& tree, const SequentialOrders& orders,
                      const OrderQuestion& question) = nullptr;
};

/// All of them, the first the one of least peak. A new order is a line here, see
/// docs/manual/add_an_algorithm.md.
[[nodiscard]] std::span<const TreeOrder> tree_orders();

/// @return nothing for a number or a name that is none of theirs
[[nodiscard]] const TreeOrder* find_order(OrderKind kind);
[[nodiscard]] const TreeOrder* find_order(std::string_view name);

/// The order by itself. @throws InvalidInput for a kind that is none of tree_orders()
[[nodiscard]] Traversal sequential_order(const TaskTree& tree, OrderKind kind);

/// The same for a caller who has the orders of the tree, which are not computed again.
[[nodiscard]] Traversal sequential_order(const TaskTree& tree, OrderKind kind,
                                         const SequentialOrders& orders);

/// The order for several workers. @throws InvalidInput likewise
[[nodiscard]] Traversal order_inside(const TaskTree& tree, OrderKind kind,
                                     const SequentialOrders& orders,
                                     const OrderQuestion& question);

}  // namespace espalier
