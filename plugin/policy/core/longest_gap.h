#pragma once

#include <algorithm>
#include <atomic>

#include "espalier/model/units.h"

namespace espalier::policy {

/// The longest time in which there were tasks and none of them was executed: what a
/// program that stands still shows.
///
/// A task is executed from the moment at which its data are there until its function has
/// ended, as a worker tells with starts() and stops(); however long it takes, that is no
/// standing still. What comes between the function's end and the next one's start is:
/// that the worker waits for a lock to send what was computed, or for data, or for room.
///
/// Thread-safe; three atomic operations a task, and two more. Moments of different
/// threads may come in any order.
///
/// @par Test  LongestGap.*
class LongestGap {
 public:
  /// A task is submitted when there is no other.
  void begins(Seconds now) { raise(last_, now); }

  /// This thread executes a task from now on. One at a time: of a thread that has
  /// several, those count that are over when it stops for the first time.
  void starts(Seconds now) {
    if (executes_for_ == this) return;
    executes_for_ = this;
    if (executing_.fetch_add(1) == 0) raise(longest_, now - last_.load());
  }

  /// This thread executes none any more; nothing where it did not.
  void stops(Seconds now) {
    if (executes_for_ != this) return;
    executes_for_ = nullptr;
    raise(last_, now);  // first: who starts next must see it
    executing_.fetch_sub(1);
  }

  /// Where this thread executes a task; nullptr where it does not.
  [[nodiscard]] static LongestGap* of_this_thread() { return executes_for_; }

  /// `pending`: there are tasks that have not ended.
  [[nodiscard]] Seconds longest(Seconds now, bool pending) const {
    const bool waits = pending && executing_.load() == 0;
    return std::max(longest_.load(), waits ? now - last_.load() : 0);
  }

 private:
  static void raise(std::atomic<Seconds>& most, Seconds value) {
    Seconds before = most.load();
    while (value > before && !most.compare_exchange_weak(before, value)) {
    }
  }

  inline static thread_local LongestGap* executes_for_ = nullptr;
  std::atomic<int> executing_ = 0;  // threads
  std::atomic<Seconds> last_ = 0, longest_ = 0;
};

}  // namespace espalier::policy
