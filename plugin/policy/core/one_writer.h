#pragma once

#include <atomic>

namespace espalier::policy {

/// Adds to a total that one thread writes and any reads: no locked instruction.
template <class T>
void add(std::atomic<T>& total, T amount) {
  total.store(total.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}

}  // namespace espalier::policy
