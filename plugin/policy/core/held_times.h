#pragma once

#include <mutex>
#include <unordered_map>

#include "espalier/model/units.h"

namespace espalier::policy {

/// How long each task waited at a gate, for the trace. Thread-safe.
///
/// A task that is asked for at a gate is noted before, since another thread may let it go
/// at once: asks(), then either passes() or, sooner or later in any thread, goes_on().
class HeldTimes {
 public:
  void asks(const void* task, Seconds now) {
    const std::scoped_lock lock(mutex_);
    tasks_[task] = {now, 0};
  }
  /// The gate did not hold it.
  void passes(const void* task) {
    const std::scoped_lock lock(mutex_);
    tasks_.erase(task);
  }
  /// The gate has let it go. Of no effect for a task that was not held.
  void goes_on(const void* task, Seconds now) {
    const std::scoped_lock lock(mutex_);
    const auto found = tasks_.find(task);
    if (found != tasks_.end()) found->second.held = now - found->second.since;
  }
  /// The task has ended. @return how long it was held
  [[nodiscard]] Seconds take(const void* task) {
    const std::scoped_lock lock(mutex_);
    const auto found = tasks_.find(task);
    if (found == tasks_.end()) return 0;
    const Seconds held = found->second.held;
    tasks_.erase(found);
    return held;
  }

 private:
  struct Times {
    Seconds since, held;
  };
  std::mutex mutex_;
  std::unordered_map<const void*, Times> tasks_;
};

}  // namespace espalier::policy
