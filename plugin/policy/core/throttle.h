#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "espalier/model/units.h"

namespace espalier::policy {

/// Makes submission wait while a window of tasks is full, so that a program which submits
/// a million tasks ahead keeps some thousands of them in memory.
///
/// Waiting must not block the program, which may be needed to let tasks run: it may have
/// paused the workers, or be about to submit what the others depend on. So a thread waits
/// only while tasks are ready or running, goes on when no task starts for kReadyPatience
/// or none ends for kRunningPatience, and after that does not wait again before a task
/// has ended.
///
/// Thread-safe. Not waiting costs two atomic operations a task.
///
/// @par Test  Throttle.*
class Throttle {
 public:
  static constexpr Seconds kReadyPatience = 0.02, kRunningPatience = 2;

  /// `window`: tasks; 0: never waits.
  explicit Throttle(std::size_t window);

  // Each task, in this order.
  void submitted() { pending_.fetch_add(1, std::memory_order_relaxed); }
  void ready() { active_.fetch_add(1, std::memory_order_relaxed); }
  void running() { running_.fetch_add(1, std::memory_order_relaxed); }
  void ended();

  /// In the thread that submits, before a task is submitted.
  void wait();

  /// Tasks that are ready or running.
  [[nodiscard]] std::int64_t active() const { return active_.load(); }
  [[nodiscard]] std::int64_t in_workers() const { return running_.load(); }
  [[nodiscard]] std::int64_t pending() const { return pending_.load(); }
  /// Time that submission waited, summed over threads.
  [[nodiscard]] Seconds waited() const;
  /// Times that it went on though the window was more than half full.
  [[nodiscard]] std::int64_t gave_up() const;

 private:
  const std::int64_t window_, resume_;
  alignas(64) std::atomic<std::int64_t> pending_ = 0;
  alignas(64) std::atomic<std::int64_t> active_ = 0, running_ = 0, ended_ = 0;
  std::atomic<int> waiting_ = 0;
  std::atomic<std::int64_t> gave_up_at_ = -1;  // value of ended_

  mutable std::mutex mutex_;
  std::condition_variable room_;
  Seconds waited_ = 0;
  std::int64_t gave_up_ = 0;
};

}  // namespace espalier::policy
