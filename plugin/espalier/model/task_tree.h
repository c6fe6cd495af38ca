#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "espalier/model/id_vector.h"
#include "espalier/model/units.h"

namespace espalier {

/// Index of a task in its tree: 0 … n-1.
enum class TaskId : std::int32_t {};

[[nodiscard]] constexpr TaskId task_id(std::size_t position) {
  return static_cast<TaskId>(position);
}

/// One task as a caller describes it. Sizes in bytes, none negative.
struct Task {
  std::optional<TaskId> parent = {};  ///< no parent: a root
  Bytes output_size = 0;  ///< f: from the task's start until its parent has ended
  /// m: only while the task runs. Negative where the task's output takes the place of
  /// its inputs while it consumes them: by as much as inputs and output never are in
  /// memory together. At least -sum f_c and -(f + r).
  Bytes execution_size = 0;
  Bytes retained_size = 0;  ///< r: from the task's start to the end of the job
  Flops work = 0;           ///< w: finite, not negative
};

/// A task that is its own ancestor, if there is one: the tasks are then no tree. Parents
/// must be in range. O(n).
[[nodiscard]] std::optional<TaskId> task_on_cycle(std::span<const Task> tasks);

/// An in-tree of tasks, or a forest of them: a child runs before its parent.
///
/// While task i runs, memory holds the outputs of its children, m_i, f_i and r_i, next to
/// the outputs of other finished tasks whose parent has not ended and to all r of tasks
/// that ran before. The output of a root lives to the end of the job.
///
///      root (f=1 m=1)          memory while 'root' runs: 2 + 3 + 1 + 1 = 7
///      /            \          memory while 'b' runs after 'a': 2 + (3 + 4) = 9
///   a (f=2 m=0)   b (f=3 m=4)
///
/// Immutable once built, and without answers: traversals, mappings and plans are values
/// of their own. Children are listed by increasing id, as are roots.
class TaskTree {
 public:
  /// The empty forest.
  TaskTree() = default;

  /// @throws InvalidInput  for a parent out of range, a cycle, a negative size, work that
  ///                       is negative or not finite; the message names task and value
  /// @throws OverflowError when the sum of all sizes leaves the 64-bit range or that of
  ///                       all work is above 1e250, so that no sum over tasks needs a
  ///                       check later on
  /// @par Cost  O(n) time and memory, no recursion
  explicit TaskTree(std::span<const Task> tasks);

  [[nodiscard]] std::size_t size() const { return parent_.size(); }
  [[nodiscard]] bool empty() const { return parent_.empty(); }
  [[nodiscard]] std::optional<TaskId> parent(TaskId task) const;
  [[nodiscard]] std::span<const TaskId> children(TaskId task) const;
  [[nodiscard]] std::span<const TaskId> roots() const { return roots_; }
  [[nodiscard]] Bytes output_size(TaskId task) const { return output_[index(task)]; }
  [[nodiscard]] Bytes execution_size(TaskId task) const {
    return execution_[index(task)];
  }
  [[nodiscard]] Bytes retained_size(TaskId task) const { return retained_[index(task)]; }
  [[nodiscard]] Flops work(TaskId task) const { return work_[index(task)]; }

  /// Sum of the children's outputs.
  [[nodiscard]] Bytes input_size(TaskId task) const { return input_[index(task)]; }
  /// MemReq(i) = sum of the children's f + m_i + f_i + r_i: what i needs all on its own.
  [[nodiscard]] Bytes memory_requirement(TaskId task) const;

  /// Every task once, children before parents, each subtree contiguous, siblings and
  /// roots by increasing id. The order in which bottom-up recurrences visit the tree.
  [[nodiscard]] std::span<const TaskId> postorder() const { return postorder_; }

 private:
  void check_reuse(std::size_t task) const;
  void list_children();
  void list_postorder();

  std::vector<std::int32_t> parent_;  // -1: a root
  std::vector<Bytes> output_, execution_, retained_, input_;
  std::vector<Flops> work_;
  std::vector<std::size_t> first_child_;  // n + 1 offsets into children_
  std::vector<TaskId> children_;
  std::vector<TaskId> roots_, postorder_;
};

}  // namespace espalier
