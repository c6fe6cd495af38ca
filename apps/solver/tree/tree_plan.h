#pragma once

#include <espalier.h>

#include <cstdint>
#include <memory>
#include <span>

#include "espalier/model/task_tree.h"
#include "espalier/parallel/make_plan.h"

namespace espalier::solver {

using TreePlan = std::unique_ptr<espalier_plan, void (*)(espalier_plan*)>;

/// How the tasks of a tree are ordered and dealt out.
struct TreePlanOptions {
  std::int32_t workers = 1;
  OrderKind order = OrderKind::kLiu;
  MappingKind mapping = MappingKind::kMemoryAware;
};

/// A plan of the policy for a tree of the planner.
/// @param bound  on the tree's tasks
/// @param order  the witness; empty: by the options
/// @return null when the bound is too small
/// @throws Error
[[nodiscard]] TreePlan make_tree_plan(const TaskTree& tasks,
                                      std::span<const double> max_workers,
                                      const TreePlanOptions& options, Bytes bound,
                                      std::span<const TaskId> order = {});

}  // namespace espalier::solver
