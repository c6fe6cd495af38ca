#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "espalier/model/error.h"
#include "espalier/model/plan.h"
#include "espalier/model/task_graph.h"

namespace espalier {

enum class GraphRule {
  kActivation,  ///< GraphActivation; the critical path is the priority
  /// GraphBanker; the priority is the order of the witness, in blocks of twice as many
  /// operators as workers, inside a block the critical path
  kBanker,
  kShorter  ///< both are simulated, and the shorter run is taken
};

struct GraphPlanOptions {
  std::int32_t workers = 1;
  /// no value: the peak of the witness
  std::optional<Bytes> memory_bound = std::nullopt;
  GraphRule rule = GraphRule::kShorter;
  /// Bytes that every order needs, as far as the caller knows: for a refusal.
  Bytes lower_bound = 0;
};

/// A graph on several workers inside a bound.
struct GraphPlan {
  GraphRule rule = GraphRule::kActivation;  ///< that was taken: never kShorter
  Schedule schedule;                        ///< the simulated run, in units of work
  Bytes memory_bound = 0;
  Bytes witness_peak = 0;
  Bytes peak = 0;        ///< of the simulated run
  Seconds makespan = 0;  ///< of the simulated run
  LowerBounds lower_bounds;
};

/// Simulates the graph inside the bound. The witness, an order of all operators, is what
/// admission relies on: the best order there is leaves most room for several at once.
///
/// Which rule is faster depends on the graph. Activation keeps room for what is to come;
/// the banker's test starts more, and is ahead where memory is tight, as long as it is
/// led by the witness (docs/decisions/0038-banker-follows-the-witness.md).
///
/// @return the plan, or Infeasible::kNoneFound when the peak of the witness exceeds the
///         bound (kImpossible when the bound is below `lower_bound`, an operator's own
///         requirement, or the data there are at the start or the end)
/// @throws InvalidInput for workers < 1 or a witness that is no order of the graph
/// @par Cost  as simulate()
/// @par Test  PlanGraph.*
[[nodiscard]] Expected<GraphPlan> plan_graph(const TaskGraph& graph,
                                             std::span<const TaskId> witness,
                                             const GraphPlanOptions& options);

}  // namespace espalier
