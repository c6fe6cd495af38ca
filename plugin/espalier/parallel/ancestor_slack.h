#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "espalier/model/task_tree.h"

namespace espalier {

/// What each ancestor can spare, and the walk that hands freed bytes up to them.
///
/// slack(i) >= 0 is what the subtree of i hands up beyond what i needs. A flow of freed
/// bytes climbs from task to parent. At each open task i it shrinks to
/// min(flow, slack(i)), what i keeps is the difference, and slack(i) falls by what
/// passes. Tasks open in an order that respects the tree; the climb ends at the first
/// task that is not open.
///
/// A slack only falls and each task that keeps something ends with slack 0, so that all
/// climbs together stop O(n) times. The stretches between stops are range subtractions
/// in segment trees over the heavy paths [ST83].
///
/// @par Cost  O(log n) opens and reads; climb(): O(log^2 n) amortised, whatever the
/// height
class AncestorSlack {
 public:
  /// The tree must outlive this object.
  explicit AncestorSlack(const TaskTree& tree);

  /// `task` takes part from now on. Its children are open already.
  void open(TaskId task, Bytes slack);
  [[nodiscard]] Bytes slack(TaskId task) const;

  /// Sends `flow` bytes from `start` towards the root, adds what each task keeps to
  /// `kept` (indexed by task) and returns what left the last open task.
  Bytes climb(TaskId start, Bytes flow, std::span<Bytes> kept);

 private:
  struct Node {  // of a segment tree over one heavy path
    Bytes least =
        std::numeric_limits<Bytes>::max();  // slack below, without `taken` above
    Bytes taken = 0;                        // subtracted from the whole range
  };
  // One heavy path, from its deepest task up. Its segment tree has 2 length - 1 nodes in
  // preorder from nodes_[2 first] on: the left child of k is k + 1, the right child is
  // k + 2 (length of the left half).
  struct Path {
    std::int32_t first = 0;  // of its tasks in path_tasks_
    std::int32_t length = 0;
    std::int32_t open = 0;  // open tasks: the deepest ones, contiguous
  };
  struct Climb {
    std::int32_t from, end;
    Bytes flow;
    std::span<Bytes> kept;
    std::int32_t first;  // of the path
  };
  void pass(std::size_t node, std::int32_t low, std::int32_t high, Bytes above,
            Climb& climb);

  const TaskTree* tree_;
  std::vector<Path> paths_;
  std::vector<std::int32_t> path_of_;  // task -> path
  std::vector<std::int32_t> place_;    // task -> position in its path
  std::vector<TaskId> path_tasks_;     // the paths one after the other
  std::vector<Node> nodes_;
};

}  // namespace espalier
