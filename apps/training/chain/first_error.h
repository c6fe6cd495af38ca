#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <utility>

namespace espalier::training {

/// The first error of tasks that must not throw. Safe from any thread.
class FirstError {
 public:
  void keep(std::exception_ptr error) noexcept {
    const std::scoped_lock lock(mutex_);
    if (error_) return;
    error_ = std::move(error);
    failed_ = true;
  }
  [[nodiscard]] bool failed() const noexcept { return failed_; }
  /// Does the work of a task, unless one has failed, and keeps what it throws.
  template <class Work>
  void run(const Work& work) noexcept {
    if (failed()) return;
    try {
      work();
    } catch (...) {
      keep(std::current_exception());
    }
  }
  void rethrow() const {
    const std::scoped_lock lock(mutex_);
    if (error_) std::rethrow_exception(error_);
  }

 private:
  mutable std::mutex mutex_;
  std::exception_ptr error_;
  std::atomic<bool> failed_{false};
};

}  // namespace espalier::training
