#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "espalier/model/task_tree.h"
#include "solver/ordering.h"

namespace espalier::cli {

/// A tree to plan: of a tree file, or the assembly tree of a matrix or a grid.
struct PlanInput {
  std::shared_ptr<const TaskTree> tree;
  std::vector<double> max_workers;  ///< useful workers per task; empty: one worker a task
  std::vector<std::int64_t> ids;    ///< names of the tasks in the file; empty: 0 … n-1

  [[nodiscard]] std::int64_t id(TaskId task) const {
    return ids.empty() ? static_cast<std::int64_t>(task) : ids[index(task)];
  }
};

/// A file is a matrix if it is compressed or begins with "%%MatrixMarket", else a tree.
/// `workers` and `ordering` apply to matrices: what is one task depends on both.
/// @throws FileError
[[nodiscard]] PlanInput read_plan_input(const std::string& path,
                                        solver::OrderingKind ordering,
                                        std::int32_t workers);
/// The same for the Laplacian of a grid, "40x40x40". @throws InvalidInput
[[nodiscard]] PlanInput grid_plan_input(const std::string& grid,
                                        solver::OrderingKind ordering,
                                        std::int32_t workers);

}  // namespace espalier::cli
