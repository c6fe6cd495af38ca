#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "espalier/model/schedule.h"
#include "espalier/model/task_tree.h"

// What proportional() and memory_aware() have in common: the division of workers.

namespace espalier {

/// An interval of the workers' line [0, P), its ends anywhere between workers.
struct WorkerShare {
  double begin = 0, end = 0;

  /// Rounding in the division of an interval must not make a subtree wider than a worker.
  static constexpr double kTolerance = 1e-9;
  [[nodiscard]] bool wide() const { return end - begin > 1 + kTolerance; }
  /// The whole workers that it stands for, see proportional(); inside `outer`, those of
  /// the share that it is a part of.
  [[nodiscard]] WorkerRange workers(const WorkerRange& outer) const;
};

/// Sum of w over each task's subtree.
[[nodiscard]] std::vector<Flops> subtree_works(const TaskTree& tree);

/// Shares of siblings that are cut into groups 0 … groups-1: each group has all of
/// `whole` and divides it by subtree work, in the order of `siblings`. `group` and the
/// result `shares` are indexed by task. When `whole` is not wide, every sibling has all
/// of it.
void share_out(const WorkerShare& whole, std::span<const TaskId> siblings,
               std::span<const std::int32_t> group, std::int32_t groups,
               std::span<const Flops> work, std::span<WorkerShare> shares);

/// Workers of a task: those of its share, inside its parent's or, for a root, all.
[[nodiscard]] WorkerRange workers_of(const TaskTree& tree, TaskId task,
                                     const WorkerShare& share, const Mapping& mapping,
                                     std::int32_t workers);

/// @throws InvalidInput for workers < 1
void check_workers(std::int32_t workers);

}  // namespace espalier
