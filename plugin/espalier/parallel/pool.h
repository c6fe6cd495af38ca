#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace espalier {

/// Objects at indices that stay, those given back used again.
template <class T>
class Pool {
 public:
  std::uint32_t take(const T& item) {
    if (vacant_.empty()) {
      items_.push_back(item);
      return static_cast<std::uint32_t>(items_.size() - 1);
    }
    const std::uint32_t i = vacant_.back();
    vacant_.pop_back();
    items_[i] = item;
    return i;
  }
  void give_back(std::uint32_t i) { vacant_.push_back(i); }
  T& operator[](std::uint32_t i) { return items_[i]; }
  const T& operator[](std::uint32_t i) const { return items_[i]; }
  /// All that were ever taken, those given back as they were then.
  [[nodiscard]] std::deque<T>& items() { return items_; }

 private:
  std::deque<T> items_;
  std::vector<std::uint32_t> vacant_;
};

}  // namespace espalier
