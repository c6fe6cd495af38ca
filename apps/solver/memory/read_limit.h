#pragma once

#include <condition_variable>
#include <mutex>

#include "espalier/model/units.h"

namespace espalier::solver {

/// Lets readers in while what they read fits in a limit, and one in any case.
class ReadLimit {
 public:
  explicit ReadLimit(Bytes limit) : limit_(limit) {}

  void enter(Bytes bytes) {
    if (bytes == 0) return;
    std::unique_lock lock(mutex_);
    left_.wait(lock, [&] { return used_ == 0 || used_ + bytes <= limit_; });
    used_ += bytes;
  }
  void leave(Bytes bytes) {
    if (bytes == 0) return;
    const std::scoped_lock lock(mutex_);
    used_ -= bytes;
    left_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable left_;
  Bytes limit_, used_ = 0;
};

}  // namespace espalier::solver
