#include "espalier/parallel/make_plan.h"

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

namespace espalier {
namespace {

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

Traversal make_witness(const TaskTree& tree, const PlanOptions& options,
                       SequentialOrders& orders, Bytes bound) {
  switch (options.order) {
    case OrderKind::kLiu:
      break;
    case OrderKind::kPostorder:
      return std::move(orders.postorder);
    case OrderKind::kParallel:
      return parallel_order(tree, orders, {options.workers, bound, options.max_workers});
  }
  return std::move(orders.liu);
}

}  // namespace

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
  const Bytes needed =
      options.order == OrderKind::kPostorder ? orders.postorder.peak : least;
  const Bytes bound = options.memory_bound.value_or(needed);
  if (needed > bound) {
    const auto reason =
        bound < least ? Infeasible::Reason::kImpossible : Infeasible::Reason::kNoneFound;
    return tl::unexpected(Infeasible{reason, bound, least, least});
  }

  Plan plan;
  plan.mapping = make_mapping(*tree, options, orders.postorder, bound);
  Traversal witness = make_witness(*tree, options, orders, bound);
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

}  // namespace espalier
