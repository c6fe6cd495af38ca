#include "espalier/parallel/plan_graph.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "espalier/model/replay_graph.h"
#include "espalier/parallel/graph_banker.h"
#include "espalier/parallel/graph_bounds.h"
#include "espalier/parallel/simulate_graph.h"

namespace espalier {
namespace {

// The witness block by block, each block by critical path.
std::vector<Seconds> banker_priority(const TaskGraph& graph,
                                     std::span<const TaskId> witness,
                                     std::int32_t workers) {
  const std::vector<Seconds> weight = path_weights(graph);
  const std::size_t block = 2 * static_cast<std::size_t>(workers);
  std::vector<TaskId> order(witness.begin(), witness.end());
  for (std::size_t first = 0; first < order.size(); first += block) {
    const auto begin = order.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = order.size() - first > block
                         ? begin + static_cast<std::ptrdiff_t>(block)
                         : order.end();
    std::stable_sort(begin, end, [&](TaskId a, TaskId b) {
      return weight[index(a)] > weight[index(b)];
    });
  }
  std::vector<Seconds> priority(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    priority[index(order[k])] = -static_cast<Seconds>(k);
  }
  return priority;
}

Simulation run(const TaskGraph& graph, std::span<const TaskId> witness, Bytes bound,
               std::int32_t workers, GraphRule rule) {
  if (rule == GraphRule::kBanker) {
    GraphBanker admission(graph, witness, bound);
    return simulate(graph, admission, workers, banker_priority(graph, witness, workers));
  }
  GraphActivation admission(graph, witness, bound);
  return simulate(graph, admission, workers);
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
    const Bytes least = std::max(least_conceivable(graph), options.lower_bound);
    const auto reason = plan.memory_bound < least ? Infeasible::Reason::kImpossible
                                                  : Infeasible::Reason::kNoneFound;
    return tl::make_unexpected(
        Infeasible{reason, plan.memory_bound, plan.witness_peak, least});
  }
  const auto simulate_by = [&](GraphRule rule) {
    return run(graph, witness, plan.memory_bound, options.workers, rule);
  };
  const bool both = options.rule == GraphRule::kShorter;
  plan.rule = both ? GraphRule::kActivation : options.rule;
  Simulation simulation = simulate_by(plan.rule);
  if (both) {
    Simulation other = simulate_by(GraphRule::kBanker);
    if (other.makespan < simulation.makespan) {
      simulation = std::move(other);
      plan.rule = GraphRule::kBanker;
    }
  }
  plan.schedule = std::move(simulation.schedule);
  plan.peak = simulation.peak;
  plan.makespan = simulation.makespan;
  return plan;
}

}  // namespace espalier
