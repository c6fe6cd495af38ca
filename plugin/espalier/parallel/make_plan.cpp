#include "espalier/parallel/make_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "espalier/model/replay.h"
#include "espalier/parallel/admission.h"
#include "espalier/parallel/bounds.h"
#include "espalier/parallel/mapping.h"
#include "espalier/parallel/memory_aware_mapping.h"
#include "espalier/parallel/parallel_order.h"
#include "espalier/parallel/simulate.h"
#include "espalier/parallel/worker_share.h"
#include "espalier/sequential/tree/best_postorder.h"
#include "espalier/sequential/tree/liu_traversal.h"

namespace espalier {
namespace {

constexpr MappingChoice kMappings[] = {{MappingKind::kAllToAll, "all-to-all"},
                                       {MappingKind::kProportional, "proportional"},
                                       {MappingKind::kMemoryAware, "memory-aware"}};

// A bound that only Liu's order meets is less than the memory-aware mapping can work
// with; as a preference it is then made for the best postorder's peak.
Mapping make_mapping(const TaskTree& tree, const PlanOptions& options,
                     const Traversal& postorder, Bytes bound) {
  switch (options.mapping) {
    case MappingKind::kAllToAll:
      return all_to_all(tree, options.workers);
    case MappingKind::kProportional:
      return proportional(tree, options.workers);
    case MappingKind::kMemoryAware:
      break;
  }
  return memory_aware(tree, postorder, options.workers, std::max(bound, postorder.peak))
      .mapping;
}

tl::unexpected<Infeasible> too_small(Bytes bound, Bytes needed, Bytes least) {
  const auto reason =
      bound < least ? Infeasible::Reason::kImpossible : Infeasible::Reason::kNoneFound;
  return tl::unexpected(Infeasible{reason, bound, needed, least});
}

// The witness fits in the bound.
Plan complete_plan(std::shared_ptr<const TaskTree> tree, Witness&& witness,
                   const PlanOptions& options, const Traversal& postorder, Bytes bound,
                   Bytes least) {
  Plan plan;
  plan.mapping = make_mapping(*tree, options, postorder, bound);
  plan.witness = std::move(witness.order);
  plan.priority = root_path_times(*tree, options.workers, options.max_workers);
  plan.workers = options.workers;
  plan.memory_bound = bound;
  plan.witness_peak = witness.peak;
  plan.least_bytes = least;
  plan.lower_bounds = lower_bounds(*tree, options.workers, bound, options.max_workers);
  BookingAdmission admission(*tree, plan.witness, bound);
  Simulation run =
      simulate(*tree, admission, {options.workers, options.max_workers, plan.priority});
  plan.schedule = std::move(run.schedule);
  plan.peak = replay(*tree, plan.schedule).peak;
  plan.makespan = run.makespan;
  plan.tree = std::move(tree);
  return plan;
}

}  // namespace

std::span<const MappingChoice> mapping_kinds() { return kMappings; }

const MappingChoice* find_mapping(MappingKind kind) {
  const auto found = std::ranges::find(kMappings, kind, &MappingChoice::kind);
  return found == std::end(kMappings) ? nullptr : found;
}

Witness given_witness(const TaskTree& tree, std::vector<TaskId> order) {
  const Bytes peak = replay(tree, order).peak;
  return {std::move(order), peak, std::nullopt, false};
}

Expected<Plan> make_plan(std::shared_ptr<const TaskTree> tree, Witness witness,
                         const PlanOptions& options) {
  check_workers(options.workers);
  if (const Bytes peak = replay(*tree, witness.order).peak; peak != witness.peak)
    throw InvalidInput(
        fmt::format("a witness of peak {} B whose order needs {} B", witness.peak, peak));
  const Bytes bound = options.memory_bound.value_or(witness.peak);
  const Bytes least = witness.proves_least ? witness.peak : liu_traversal(*tree).peak;
  if (witness.peak > bound) return too_small(bound, witness.peak, least);
  const Traversal postorder = best_postorder(*tree);
  return complete_plan(std::move(tree), std::move(witness), options, postorder, bound,
                       least);
}

Expected<Plan> make_plan(std::shared_ptr<const TaskTree> tree,
                         const PlanOptions& options) {
  check_workers(options.workers);
  SequentialOrders orders = sequential_orders(*tree);
  return make_plan(std::move(tree), options, std::move(orders));
}

Expected<Plan> make_plan(std::shared_ptr<const TaskTree> tree, const PlanOptions& options,
                         SequentialOrders orders) {
  check_workers(options.workers);
  const Bytes least = orders.liu.peak;
  Traversal order = sequential_order(*tree, options.order, orders);
  const Bytes bound = options.memory_bound.value_or(order.peak);
  if (order.peak > bound) return too_small(bound, order.peak, least);
  if (order_of(options.order).chosen_inside)
    order = parallel_order(*tree, orders, {options.workers, bound, options.max_workers});
  Witness witness{std::move(order.order), order.peak, options.order, order.peak == least};
  return complete_plan(std::move(tree), std::move(witness), options, orders.postorder,
                       bound, least);
}

}  // namespace espalier
