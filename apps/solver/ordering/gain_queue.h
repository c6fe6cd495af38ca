#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace espalier::solver {

/// Vertices by gain, the greatest first, then by number. Entries whose gain has changed
/// since stay; who takes one looks whether it still holds.
class GainQueue {
 public:
  void push(std::int32_t gain, std::int32_t vertex) {
    const std::int64_t high = std::int64_t{gain} << 32;
    entries_.push_back(high | static_cast<std::uint32_t>(~vertex));
    std::push_heap(entries_.begin(), entries_.end());
  }
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] std::int32_t gain() const {
    return static_cast<std::int32_t>(entries_.front() >> 32);
  }
  [[nodiscard]] std::int32_t vertex() const {
    return ~static_cast<std::int32_t>(entries_.front());
  }
  void pop() {
    std::pop_heap(entries_.begin(), entries_.end());
    entries_.pop_back();
  }
  void clear() { entries_.clear(); }

 private:
  std::vector<std::int64_t> entries_;
};

}  // namespace espalier::solver
