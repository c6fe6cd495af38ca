#pragma once

#include <memory>
#include <span>

#include "espalier/model/task_tree.h"
#include "solver/solver.h"

namespace espalier::solver {

using TreePlan = std::unique_ptr<espalier_plan, void (*)(espalier_plan*)>;

/// A plan of the policy for a tree of the planner.
/// @param bound  on the tree's tasks
/// @param order  the witness; empty: by the options
/// @return null when the bound is too small
/// @throws Error
[[nodiscard]] TreePlan make_tree_plan(const TaskTree& tasks,
                                      std::span<const double> max_workers,
                                      const SolverOptions& options, Bytes bound,
                                      std::span<const TaskId> order = {});

}  // namespace espalier::solver
