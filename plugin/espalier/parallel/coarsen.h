#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "espalier/model/task_tree.h"

namespace espalier {

/// A tree whose small subtrees are one task each.
struct CoarseTree {
  TaskTree tree;
  std::vector<TaskId> coarse_of;  ///< fine task -> coarse task

  std::vector<TaskId> member;      ///< fine tasks, by coarse task
  std::vector<std::size_t> first;  ///< n + 1 offsets into `member`

  /// Fine tasks of `coarse` in the order in which it runs them.
  [[nodiscard]] std::span<const TaskId> members(TaskId coarse) const {
    const std::size_t from = first[index(coarse)];
    return std::span(member).subspan(from, first[index(coarse) + 1] - from);
  }
  /// The fine order that a coarse order stands for. Same peak.
  [[nodiscard]] std::vector<TaskId> expand(std::span<const TaskId> order) const;
};

/// Each largest subtree whose work is less than `fraction` W / P (W: work of the whole
/// tree) becomes one task that runs its members in Liu order. With A the Liu peak of the
/// subtree, f the output of its root and R the sum of its retained sizes, that task has
///   output f, retained R, execution size A - f - R, work the sum of the members'.
/// It holds A bytes from start to end, so that any schedule of the coarse tree is one of
/// the fine tree with at most the same memory at every instant, and the same peak in
/// sequence. Coarse tasks are numbered in order of their roots' ids.
///
/// The coarse tree cannot leave a small subtree in the middle, as the fine one's best
/// order may. What holds, each with equality when the best postorder is optimal:
///   Liu(fine) <= Liu(coarse) <= best postorder(coarse) <= best postorder(fine).
///
/// @throws InvalidInput for workers < 1 or a fraction that is negative or NaN
/// @par Cost  O(n log n)
/// @par Test  Coarsen.LeastPeakLiesBetweenLiuAndBestPostorder
[[nodiscard]] CoarseTree coarsen(const TaskTree& tree, std::int32_t workers,
                                 double fraction = 0.01);

}  // namespace espalier
