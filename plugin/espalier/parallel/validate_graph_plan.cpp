#include "espalier/parallel/validate_graph_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "espalier/model/validate_graph_schedule.h"

namespace espalier {

Violations validate(const TaskGraph& graph, const GraphPlan& plan) {
  Violations wrong = validate(graph, plan.schedule, plan.peak);
  if (!wrong.empty()) return wrong;
  const auto require = [&](bool holds, const std::string& text) {
    if (!holds) wrong.push_back(text);
  };
  // One byte less is exceeded: the peak is reached.
  require(plan.peak == 0 || !validate(graph, plan.schedule, plan.peak - 1).empty(),
          fmt::format("the run never reaches its peak {}", plan.peak));
  require(plan.rule != GraphRule::kShorter, "no rule was taken");
  require(plan.peak <= plan.memory_bound,
          fmt::format("the run needs {}, the bound is {}", plan.peak, plan.memory_bound));
  require(plan.witness_peak <= plan.memory_bound,
          fmt::format("the witness needs {}, the bound is {}", plan.witness_peak,
                      plan.memory_bound));
  Seconds last = 0;
  for (const Seconds end : plan.schedule.end) last = std::max(last, end);
  require(plan.makespan == last,
          fmt::format("the run ends at {}, not at {}", last, plan.makespan));
  const Seconds least = plan.lower_bounds.best();
  require(
      plan.makespan >= least * (1 - 1e-9),
      fmt::format("the makespan {} is below its lower bound {}", plan.makespan, least));
  return wrong;
}

}  // namespace espalier
