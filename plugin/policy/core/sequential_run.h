#pragma once

#include <cstdint>
#include <deque>

#include "espalier/model/units.h"

namespace espalier::policy {

/// What the tasks need that are submitted, one after the other in that order: with a
/// smaller bound it cannot be followed without a disk, and the banker's rule keeps this
/// one. A program may end inside less where later tasks that allocate nothing come first.
///
/// Task i takes alloc_i bytes when it starts and gives back free_i when it ends, so it
/// needs the peak of   Σ_{j<i} (alloc_j - free_j) + alloc_i.   Tasks that have ended, all
/// before them too, are summed up; both numbers of the others may still change.
///
/// @par Cost  O(1) a call in the long run, 16 bytes a task that is not summed up; least()
///            goes through these
/// @par Test  SequentialRun.*
class SequentialRun {
 public:
  using Number = std::uint64_t;

  /// @return the task's number: 0, 1, 2 …
  Number append(Bytes alloc);
  [[nodiscard]] Number next() const { return first_ + steps_.size(); }
  /// Of what takes nothing and is never seen to end: it ends when those before it have.
  Number pass();
  /// Of a task that has not ended.
  void allocates_more(Number task, Bytes bytes) { steps_[task - first_].alloc += bytes; }
  /// Of any that was appended.
  void frees(Number task, Bytes bytes);
  /// The same when nobody could know of it before the tasks had ended that have by now.
  void frees_late(Number task, Bytes bytes) {
    frees(task < latest_ended_ ? latest_ended_ : task, bytes);
  }
  void end(Number task);
  /// Memory of no task, until as much is taken back by a negative number.
  void holds(Bytes bytes);
  [[nodiscard]] Bytes least() const;

 private:
  struct Step {
    Bytes alloc = 0;
    [[nodiscard]] bool ended() const { return free_ < 0; }
    [[nodiscard]] Bytes free() const { return ended() ? ~free_ : free_; }
    void add_free(Bytes bytes) { free_ += ended() ? -bytes : bytes; }
    void end() { free_ = ~free_; }

   private:
    Bytes free_ = 0;  // ended: its complement
  };
  static_assert(sizeof(Step) == 16);

  std::deque<Step> steps_;  // of tasks from first_ on
  Number first_ = 0, latest_ended_ = 0;
  Bytes before_ = 0, least_ = 0;  // in memory before them; the peak until then
};

}  // namespace espalier::policy
