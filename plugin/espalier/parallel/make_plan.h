#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "espalier/model/error.h"
#include "espalier/model/plan.h"
#include "espalier/parallel/sequential_orders.h"
#include "espalier/sequential/tree/tree_orders.h"

namespace espalier {

/// Where tasks should rather run: a line of mapping_kinds(). The values are those of the
/// C interface, ESPALIER_MAPPING_….
enum class MappingKind : std::int32_t {
  kMemoryAware = 0,   ///< memory_aware()
  kProportional = 1,  ///< proportional()
  kAllToAll = 2       ///< all_to_all()
};

/// All that others know of one.
struct MappingChoice {
  MappingKind kind;
  std::string_view name;  ///< of --mapping
};
[[nodiscard]] std::span<const MappingChoice> mapping_kinds();
/// @return null for a number that is none of theirs
[[nodiscard]] const MappingChoice* find_mapping(MappingKind kind);

struct PlanOptions {
  std::int32_t workers = 1;
  /// no value: the least bound that suffices for `order` ("--memory min")
  std::optional<Bytes> memory_bound;
  OrderKind order = OrderKind::kParallel;
  MappingKind mapping = MappingKind::kMemoryAware;
  /// useful workers per task for the simulation; empty: one worker a task
  std::vector<double> max_workers = {};
};

/// A sequential order that proves that a tree can finish inside a bound of its peak, and
/// what is known about that peak.
struct Witness {
  std::vector<TaskId> order;        ///< all tasks, children before parents
  Bytes peak = 0;                   ///< of the order
  std::optional<OrderKind> origin;  ///< none: the caller's own
  bool proves_least = false;        ///< no order at all needs less than `peak`
};

/// An order of the caller's own. It proves that its peak suffices, and nothing more.
/// @throws InvalidInput when it is not each task once, children before parents
/// @par Cost  O(n)
[[nodiscard]] Witness given_witness(const TaskTree& tree, std::vector<TaskId> order);

/// Tree + witness -> mapping, priorities, simulated run and bounds; options.order is not
/// looked at. Without options.memory_bound the bound is the witness's peak.
///
/// A bound below the witness's peak is Infeasible: kImpossible where it is below Liu's
/// peak, which no order undercuts, and kNoneFound where another order would fit. The
/// least bound that suffices is in both cases the witness's peak, and the lower bound
/// Liu's.
///
/// @throws InvalidInput for workers < 1, for an order that is none of the tree's, and for
///         a witness whose peak is not that of its order
/// @par Cost  O((n + P) log n)
/// @par Test  MakePlan.DoesNotTakeAGivenOrderForLius
[[nodiscard]] Expected<Plan> make_plan(std::shared_ptr<const TaskTree> tree,
                                       Witness witness, const PlanOptions& options);

/// The same with the order that the options name as witness: kLiu and kParallel answer no
/// only to an impossible bound, others also to one between Liu's peak and their own.
///
/// @return the plan, or Infeasible with the least bound that suffices for that order
/// @throws InvalidInput for workers < 1 and for an order that is none of tree_orders()
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
