// Blocks of memory that StarPU allocates and frees.

#include "policy/starpu/clock.h"
#include "policy/starpu/handle_gate.h"

namespace espalier::policy {

namespace {

// Whether this thread has freed blocks that are pending. Its address is the thread's
// name.
thread_local bool has_pending_frees = false;

}  // namespace

void HandleGate::allocated(const void* block, std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  gate_.allocated(block, static_cast<Bytes>(bytes), false);
}

void HandleGate::allocated_for_message(const void* block, std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  gate_.allocated_for_message(block, static_cast<Bytes>(bytes));
}

std::uint32_t HandleGate::freeing(const void* block, bool evicted) {
  ++frees_;
  const std::scoped_lock lock(mutex_);
  return gate_.freeing(block, evicted);
}

void HandleGate::freed(std::uint32_t token) {
  const std::scoped_lock lock(mutex_);
  gate_.left(token);
  pending_frees_.push_back({token, &has_pending_frees, now()});
  has_pending_frees = true;
}

bool HandleGate::frees_are_pending() { return has_pending_frees; }

void HandleGate::end_pending_frees() {
  if (!has_pending_frees) return;
  const std::scoped_lock lock(mutex_);
  end_own_frees();
}

void HandleGate::end_own_frees() {
  if (!has_pending_frees) return;
  has_pending_frees = false;
  (void)end_pending_frees(&has_pending_frees, 0);
}

// What this thread freed, and what any thread freed before that time. Held tasks cannot
// be queued here: this can be a thread of the application. @return how many they were
std::int64_t HandleGate::end_pending_frees(const void* thread, Seconds before) {
  const auto gone = [&](const PendingFree& block) {
    return block.thread == thread || block.since < before;
  };
  bool given_back = false;
  for (const PendingFree& block : pending_frees_) {
    if (!gone(block)) continue;
    ++frees_;
    given_back = gate_.freed(block.token) || given_back;
  }
  const std::size_t count = std::erase_if(pending_frees_, gone);
  if (given_back) {
    changed();
    if (gate_.holds()) room_ = true;
  }
  return static_cast<std::int64_t>(count);
}

}  // namespace espalier::policy
