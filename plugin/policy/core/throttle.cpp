#include "policy/core/throttle.h"

#include <chrono>

#include "espalier/model/clock.h"

namespace espalier::policy {

// Going on at half: one waking for hundreds of tasks.
Throttle::Throttle(std::size_t window)
    : window_(static_cast<std::int64_t>(window)), resume_(window_ / 2) {}

void Throttle::ended() {
  running_.fetch_sub(1, std::memory_order_relaxed);
  active_.fetch_sub(1, std::memory_order_relaxed);
  ended_.fetch_add(1, std::memory_order_relaxed);
  const std::int64_t pending = pending_.fetch_sub(1) - 1;
  if (pending > resume_ || waiting_.load() == 0) return;
  const std::scoped_lock lock(mutex_);
  room_.notify_all();
}

void Throttle::wait() {
  if (window_ == 0 || pending_.load(std::memory_order_relaxed) < window_) return;
  if (gave_up_at_.load() == ended_.load()) return;
  std::unique_lock lock(mutex_);
  const auto start = Clock::now();
  auto last_progress = start, last_running = start;
  std::int64_t ended = ended_.load();
  ++waiting_;
  while (pending_.load() > resume_ && active_.load() > 0) {
    if (const std::int64_t now = ended_.load(); now != ended) {
      ended = now;
      last_progress = last_running = Clock::now();
    }
    if (running_.load() > 0) last_running = Clock::now();
    if (since(last_progress) > kRunningPatience || since(last_running) > kReadyPatience) {
      gave_up_at_ = ended;
      ++gave_up_;
      break;
    }
    // A moment at a time: that nothing is active any more is not announced.
    room_.wait_for(lock, std::chrono::milliseconds(1));
  }
  --waiting_;
  waited_ += since(start);
}

Seconds Throttle::waited() const {
  const std::scoped_lock lock(mutex_);
  return waited_;
}

std::int64_t Throttle::gave_up() const {
  const std::scoped_lock lock(mutex_);
  return gave_up_;
}

}  // namespace espalier::policy
