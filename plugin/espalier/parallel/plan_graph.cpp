#include "espalier/parallel/plan_graph.h"

#include <algorithm>
#include <utility>

#include "espalier/model/replay_graph.h"
#include "espalier/parallel/graph_banker.h"
#include "espalier/parallel/graph_bounds.h"
#include "espalier/parallel/simulate_graph.h"

namespace espalier {
namespace {

Simulation run(const TaskGraph& graph, std::span<const TaskId> witness, Bytes bound,
               const GraphPlanOptions& options) {
  if (options.rule == GraphRule::kBanker) {
    GraphBanker admission(graph, witness, bound);
    return simulate(graph, admission, options.workers);
  }
  GraphActivation admission(graph, witness, bound);
  return simulate(graph, admission, options.workers);
}

// No schedule needs less.
Bytes least_conceivable(const TaskGraph& graph) {
  Bytes bytes = std::max(graph.initial_bytes(), graph.final_bytes());
  for (std::size_t i = 0; i < graph.size(); ++i) {
    bytes = std::max(bytes, graph.memory_requirement(task_id(i)));
  }
  return bytes;
}

}  // namespace

Expected<GraphPlan> plan_graph(const TaskGraph& graph, std::span<const TaskId> witness,
                               const GraphPlanOptions& options) {
  GraphPlan plan;
  plan.witness_peak = replay(graph, witness).peak;
  plan.memory_bound = options.memory_bound.value_or(plan.witness_peak);
  plan.lower_bounds = lower_bounds(graph, options.workers, plan.memory_bound);
  if (plan.memory_bound < plan.witness_peak) {
    const Bytes least = least_conceivable(graph);
    const auto reason = plan.memory_bound < least ? Infeasible::Reason::kImpossible
                                                  : Infeasible::Reason::kNoneFound;
    return tl::make_unexpected(
        Infeasible{reason, plan.memory_bound, plan.witness_peak, least});
  }
  Simulation simulation = run(graph, witness, plan.memory_bound, options);
  plan.schedule = std::move(simulation.schedule);
  plan.peak = simulation.peak;
  plan.makespan = simulation.makespan;
  return plan;
}

}  // namespace espalier
