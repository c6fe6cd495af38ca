#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "espalier/model/task_tree.h"
#include "espalier/parallel/ancestor_slack.h"

namespace espalier {

/// Memory booking [ABM17]: the admission rule of the policy and of the simulation.
///
/// Given a tree, an activation order whose sequential peak is at most the bound M, and
/// events "task j has ended" in any order that respects the tree, it says which tasks may
/// run. Free of deadlock and never above M, whatever the durations.
///
///   booked(i)           bytes set aside for i (its children's outputs once they exist)
///   subtree_booked(i)   booked(i) + what the children's subtrees will hand up to i;
///                       known once i is the first candidate of the order
///   need(i)             MemReq(i) = children's f + m_i + f_i + r_i
///
/// activate():  strictly in activation order, i books only what its subtree cannot hand
///              up, need(i) - subtree_booked(i); stops at the first that does not fit.
/// complete(j): r_j stays to the end; f_j is now held for the parent; what is left of
///              booked(j) goes to the nearest activated ancestor that could not otherwise
///              collect its need, and what nobody needs is free again.
///
/// Retained sizes are not in [ABM17]: r_i is part of need(i), but is never handed up, so
/// a subtree hands up subtree_booked(c) - r_c. What turns out not to be needed of one is
/// free again from give_back() on. In the hope of that the bound may be below the
/// order's peak (kHoped): then activate() may make no progress, which missing() tells.
///
/// Invariants after every call: memory in use <= booked_total() <= bound(); an activated
/// task whose children have ended has booked(i) >= need(i); if no startable task is left
/// and a task has not ended, activate() makes progress.
///
/// Not thread-safe: the policy calls it under its lock, the simulation from one thread.
///
/// The walk to the ancestors is AncestorSlack's, with slack(i) = subtree_booked(i) -
/// need(i), so that a completion in a deep tree costs no more than in a flat one.
///
/// @par Cost  O(log n) per activation, O(log^2 n) amortised per completion; O(n) memory
/// @par Test  MemoryBooking.NeverDeadlocksOnRandomTrees
class MemoryBooking {
 public:
  /// Whether the bound suffices whatever is given back.
  enum class Bound : bool { kSure, kHoped };

  /// `order`: each task once, children first. The tree must outlive this object.
  /// @throws InvalidInput when `order` is no such order or, of kSure, its peak exceeds
  ///         `bound`
  MemoryBooking(const TaskTree& tree, std::span<const TaskId> order, Bytes bound,
                Bound kind = Bound::kSure);

  /// Activates what fits. Appends to `startable` the tasks that may run from now on and
  /// could not before: activated, all children ended.
  void activate(std::vector<TaskId>& startable);

  /// `task` has ended: releases its memory, then activates. `task` must be startable.
  void complete(TaskId task, std::vector<TaskId>& startable);

  /// So many of the retained bytes of a task that may run, runs or has ended are not
  /// there any more, nor will be: they are free. Then activates.
  /// @return false, and nothing is done, when they are more than it retains, less than 0,
  ///         or the task waits
  [[nodiscard]] bool give_back(TaskId task, Bytes bytes, std::vector<TaskId>& startable);
  /// 0 while a task is activated and has not ended, and when all have ended. Otherwise
  /// nothing will go on: the bytes that the next of the order misses.
  [[nodiscard]] Bytes missing() const;

  /// Activated, whether it still waits, runs or has ended.
  [[nodiscard]] bool activated(TaskId task) const;
  /// Activated, children ended, itself not.
  [[nodiscard]] bool startable(TaskId task) const;
  [[nodiscard]] Bytes booked(TaskId task) const { return booked_[index(task)]; }
  [[nodiscard]] Bytes bound() const { return bound_; }
  [[nodiscard]] Bytes booked_total() const { return booked_total_; }
  [[nodiscard]] Bytes booked_peak() const { return booked_peak_; }
  [[nodiscard]] std::size_t unfinished() const { return unfinished_; }

 private:
  enum class State : std::uint8_t { kWaiting, kActivated, kEnded };

  [[nodiscard]] Bytes handed_up(TaskId task) const;
  [[nodiscard]] Bytes given_back(TaskId task) const {
    return given_back_.empty() ? 0 : given_back_[index(task)];
  }
  void open_candidate();

  const TaskTree* tree_;
  std::vector<TaskId> order_;
  std::size_t next_ = 0;  // order_[next_] is the first task not yet activated
  std::vector<Bytes> booked_;
  std::vector<Bytes> given_back_;  // of retained bytes; empty: nothing yet
  Bytes missing_ = 0;              // what order_[next_] still has to book
  AncestorSlack slack_;
  std::vector<std::int32_t> children_left_;
  std::vector<State> state_;
  Bytes bound_, booked_total_ = 0, booked_peak_ = 0;
  std::size_t unfinished_;
};

}  // namespace espalier
