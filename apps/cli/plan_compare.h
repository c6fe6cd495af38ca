#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/plan_input.h"
#include "cli/plan_lists.h"
#include "espalier/model/plan.h"
#include "espalier/parallel/compare_strategies.h"

namespace espalier::cli {

/// One simulated run of one strategy, or that it has no plan inside the bound.
struct ComparedRun {
  Strategy strategy = Strategy::kBooking;
  std::optional<StrategyRun> run;  ///< none: the strategy needs a larger bound
  double ratio = 0;                ///< makespan / lower bound
};

/// All strategies at one bound, in the order of kStrategies.
struct ComparedBound {
  std::string text;  ///< as asked for: "x1.25"
  Bytes bytes = 0;
  LowerBounds lower;
  std::vector<ComparedRun> runs;
};

/// One panel of the picture: workers and what they can do inside a task.
struct ComparedWorkers {
  std::int32_t workers = 1;
  bool moldable = false;  ///< tasks take the workers that they can use; else one each
  std::vector<ComparedBound> bounds;
};

struct Comparison {
  std::vector<ComparedWorkers> parts;  ///< sequential ones first
  Bytes least_bytes = 0;               ///< that suffices (Liu)
  Bytes postorder_bytes = 0;           ///< that suffices to the memory-aware mappings
};

struct CompareRequest {
  std::vector<std::int32_t> workers;
  std::vector<MemoryItem> memory;  ///< empty: x1, x1.25, x1.5, x2, x3
};

/// Every strategy for every number of workers and every bound, with one worker a task
/// and, where tasks can use more, once again with those.
[[nodiscard]] Comparison compare(const PlanInput& input, const CompareRequest& request);

/// @param report  what is said of the input
/// @return kNo when no bound is large enough for any strategy
[[nodiscard]] Ending print_comparison(Report report, const Comparison& comparison,
                                      bool json);

/// Sum of all sizes: what no run can exceed.
[[nodiscard]] Bytes everything(const TaskTree& tree);

}  // namespace espalier::cli
