#include "espalier/parallel/compare_strategies.h"

#include <memory>

#include "espalier/model/replay.h"
#include "espalier/parallel/admission.h"
#include "espalier/parallel/memory_aware_mapping.h"
#include "espalier/parallel/parallel_order.h"
#include "espalier/parallel/simulate.h"

namespace espalier {
namespace {

std::unique_ptr<Admission> mapped(const TaskTree& tree, const SequentialOrders& orders,
                                  const StrategyOptions& options, GroupRule rule) {
  return std::make_unique<BarrierAdmission>(
      tree,
      memory_aware(tree, orders.postorder, options.workers, options.memory_bound, rule)
          .serialisation);
}

std::unique_ptr<Admission> admission_of(const TaskTree& tree,
                                        const SequentialOrders& orders, Strategy strategy,
                                        const StrategyOptions& options) {
  const std::span<const TaskId> order = orders.liu.order;
  switch (strategy) {
    case Strategy::kAllToAll:
      return std::make_unique<SequenceAdmission>(order);
    case Strategy::kMapping:
      return mapped(tree, orders, options, GroupRule::kAllOrNothing);
    case Strategy::kMappingGroups:
      return mapped(tree, orders, options, GroupRule::kProportional);
    case Strategy::kMappingNeeds:
      return mapped(tree, orders, options, GroupRule::kNeed);
    case Strategy::kActivation:
      return std::make_unique<ActivationAdmission>(tree, order, options.memory_bound);
    case Strategy::kBooking:
      return std::make_unique<BookingAdmission>(tree, order, options.memory_bound);
    case Strategy::kParallelOrder: {
      const Traversal found = parallel_order(
          tree, orders, {options.workers, options.memory_bound, options.max_workers});
      return std::make_unique<BookingAdmission>(tree, found.order, options.memory_bound);
    }
    case Strategy::kProportional:
      break;
  }
  return std::make_unique<BarrierAdmission>(tree);
}

bool is_mapping(Strategy strategy) {
  return strategy == Strategy::kMapping || strategy == Strategy::kMappingGroups ||
         strategy == Strategy::kMappingNeeds;
}

}  // namespace

std::string_view name(Strategy strategy) {
  switch (strategy) {
    case Strategy::kAllToAll:
      return "all-to-all";
    case Strategy::kMapping:
      return "memory-aware";
    case Strategy::kMappingGroups:
      return "memory-aware, groups";
    case Strategy::kMappingNeeds:
      return "memory-aware, needs";
    case Strategy::kActivation:
      return "activation";
    case Strategy::kBooking:
      return "memory booking";
    case Strategy::kParallelOrder:
      return "booking, best order";
    case Strategy::kProportional:
      break;
  }
  return "proportional";
}

Expected<StrategyRun> run_strategy(const TaskTree& tree, const SequentialOrders& orders,
                                   Strategy strategy, const StrategyOptions& options) {
  const Bytes bound = options.memory_bound, least = orders.liu.peak;
  const Bytes needed = is_mapping(strategy) ? orders.postorder.peak : least;
  if (bound < needed) {
    const auto reason =
        bound < least ? Infeasible::Reason::kImpossible : Infeasible::Reason::kNoneFound;
    return tl::unexpected(Infeasible{reason, bound, needed, least});
  }
  const auto admission = admission_of(tree, orders, strategy, options);
  const Simulation run =
      simulate(tree, *admission, {options.workers, options.max_workers, {}});
  return StrategyRun{replay(tree, run.schedule).peak, run.makespan};
}

}  // namespace espalier
