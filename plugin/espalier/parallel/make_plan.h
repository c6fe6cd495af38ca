#pragma once

#include <memory>
#include <optional>

#include "espalier/model/error.h"
#include "espalier/model/plan.h"
#include "espalier/parallel/sequential_orders.h"

namespace espalier {

enum class OrderKind {
  kLiu,        ///< least peak of all orders
  kPostorder,  ///< least peak of all postorders
  kParallel    ///< inside the bound, of least simulated makespan: parallel_order()
};
enum class MappingKind { kAllToAll, kProportional, kMemoryAware };

struct PlanOptions {
  std::int32_t workers = 1;
  /// no value: the least bound that suffices for `order` ("--memory min")
  std::optional<Bytes> memory_bound;
  OrderKind order = OrderKind::kParallel;
  MappingKind mapping = MappingKind::kMemoryAware;
  /// useful workers per task for the simulation; empty: one worker a task
  std::vector<double> max_workers = {};
};

/// Tree + options -> witness order, mapping, priorities, simulated run and bounds.
///
/// kLiu and kParallel fall back on nothing: Liu's peak is the least bound there is.
/// kPostorder with a bound below its peak but not below Liu's is Infeasible::kNoneFound.
///
/// @return the plan, or Infeasible with the least bound that suffices
/// @throws InvalidInput for workers < 1
/// @par Cost  O((n + P) log n), for kParallel times the simulations of parallel_order():
///            seconds for 10^6 tasks and 1024 workers
[[nodiscard]] Expected<Plan> make_plan(std::shared_ptr<const TaskTree> tree,
                                       const PlanOptions& options);

/// The same for a caller who has the orders.
/// @param orders  sequential_orders(*tree)
[[nodiscard]] Expected<Plan> make_plan(std::shared_ptr<const TaskTree> tree,
                                       const PlanOptions& options,
                                       SequentialOrders orders);

}  // namespace espalier
