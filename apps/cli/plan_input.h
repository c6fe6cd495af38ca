#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/matrix_input.h"
#include "espalier/model/task_tree.h"

namespace espalier::cli {

/// What the assembly tree of a matrix depends on, beside the matrix.
struct AssemblyRequest {
  std::optional<solver::FactorKind> kind;  ///< none: found from the matrix
  solver::OrderingKind ordering = solver::OrderingKind::kAuto;
  std::int32_t workers = 1;    ///< of all processes
  std::int32_t processes = 1;  ///< that share them evenly
};

/// What is known of a tree that came from a matrix.
struct MatrixFacts {
  std::int32_t size = 0;
  solver::FactorKind kind = solver::FactorKind::kCholesky;
  std::optional<solver::OrderingKind> ordering;  ///< that was taken
};

/// A tree to plan: of a tree file, or the assembly tree of a matrix or a grid.
struct PlanInput {
  std::shared_ptr<const TaskTree> tree;
  std::vector<double> max_workers;  ///< useful workers per task; empty: one worker a task
  std::vector<std::int64_t> ids;    ///< names of the tasks in the file; empty: 0 … n-1
  std::optional<MatrixFacts> matrix;  ///< none: the input is a tree

  [[nodiscard]] std::int64_t id(TaskId task) const {
    return ids.empty() ? static_cast<std::int64_t>(task) : ids[index(task)];
  }
};

/// A file, plain or gzip, is a matrix if it begins with "%%MatrixMarket" or has a name
/// that is_rutherford_boeing() knows, else a tree. It is opened once: it may be a pipe.
/// The assembly tree of a matrix is the one that solve factors by default, in double
/// precision, on so many processes; trees take no `request`.
/// @throws FileError, InvalidInput as read_input()
[[nodiscard]] PlanInput read_plan_input(const MatrixSource& source,
                                        const AssemblyRequest& request);

}  // namespace espalier::cli
