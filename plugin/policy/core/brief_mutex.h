#pragma once

#include <mutex>

namespace espalier::policy {

/// A mutex for a microsecond or less: contenders try again for about as long as the
/// holder may take before they go to sleep. A holder that lost its processor is slept
/// for.
class BriefMutex {
 public:
  void lock() {
    for (int i = 0; i < kAttempts; ++i)
      if (mutex_.try_lock()) return;
    mutex_.lock();
  }
  void unlock() { mutex_.unlock(); }

 private:
  static constexpr int kAttempts = 64;
  std::mutex mutex_;
};

}  // namespace espalier::policy
