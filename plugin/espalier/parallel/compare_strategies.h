#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "espalier/model/error.h"
#include "espalier/model/task_tree.h"
#include "espalier/parallel/sequential_orders.h"

namespace espalier {

/// What may decide which tasks of a tree start, so that memory stays inside the bound M.
enum class Strategy {
  kAllToAll,       ///< one task at a time in Liu order, on all workers that it can use
  kMapping,        ///< memory-aware mapping, all children at once or one by one
  kMappingGroups,  ///< memory-aware mapping, groups of children
  kMappingNeeds,   ///< memory-aware mapping, groups, budgets by need
  kActivation,     ///< Activation in Liu order
  kBooking,        ///< memory booking in Liu order
  kParallelOrder,  ///< memory booking in the order of parallel_order()
  kProportional,   ///< the tree alone, as under the proportional mapping: M is not kept
};

inline constexpr std::array kStrategies = {
    Strategy::kAllToAll,      Strategy::kMapping,     Strategy::kMappingGroups,
    Strategy::kMappingNeeds,  Strategy::kActivation,  Strategy::kBooking,
    Strategy::kParallelOrder, Strategy::kProportional};

/// "all-to-all", "memory-aware", "memory-aware, groups", "memory-aware, needs",
/// "activation", "memory booking", "booking, best order", "proportional".
[[nodiscard]] std::string_view name(Strategy strategy);

struct StrategyOptions {
  std::int32_t workers = 1;
  Bytes memory_bound = 0;
  std::span<const double> max_workers = {};  ///< as in PlanOptions
};

struct StrategyRun {
  Bytes peak = 0;        ///< of the simulated run; may exceed M for kProportional alone
  Seconds makespan = 0;  ///< in units of work
};

/// Simulates one strategy with critical-path priorities; see simulate(). Whatever a
/// mapping serialises is honoured, but any worker runs any task that may start: a mapping
/// is a preference for the policy too.
///
/// Sequential fronts (`max_workers` empty) and moldable ones are compared by two calls.
///
/// @param orders  sequential_orders(tree)
/// @return the run, or Infeasible with the least bound that the strategy needs: Liu's
///         peak or, for the memory-aware mappings, the best postorder's; kProportional
///         runs inside any bound from Liu's on, so that all are asked the same question
/// @throws InvalidInput as simulate()
/// @par Cost  O((n + P) log n), for booking O(n log^2 n) at most, for kParallelOrder
///            times the simulations of parallel_order()
/// @par Test  CompareStrategies.KeepTheBound
[[nodiscard]] Expected<StrategyRun> run_strategy(const TaskTree& tree,
                                                 const SequentialOrders& orders,
                                                 Strategy strategy,
                                                 const StrategyOptions& options);

}  // namespace espalier
