#pragma once

#include <algorithm>
#include <atomic>

#include "espalier/model/units.h"

namespace espalier::policy {

/// The longest time in which there were tasks and none of them ended: what a program that
/// stands still shows, and one whose tasks are long.
///
/// Thread-safe; one exchange a task. Moments of different threads may come in any order.
///
/// @par Test  LongestGap.*
class LongestGap {
 public:
  /// A task is submitted when there is no other.
  void begins(Seconds now) { last_.store(now, std::memory_order_relaxed); }
  void task_ended(Seconds now) {
    const Seconds gap = now - last_.exchange(now, std::memory_order_relaxed);
    Seconds longest = longest_.load(std::memory_order_relaxed);
    while (gap > longest && !longest_.compare_exchange_weak(longest, gap)) {
    }
  }
  /// `pending`: there are tasks that have not ended.
  [[nodiscard]] Seconds longest(Seconds now, bool pending) const {
    return std::max(longest_.load(), pending ? now - last_.load() : 0);
  }

 private:
  std::atomic<Seconds> last_ = 0, longest_ = 0;
};

}  // namespace espalier::policy
