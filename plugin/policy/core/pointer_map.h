#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace espalier::policy {

/// Non-null pointers to 32-bit indices, 12 bytes a slot, between a half and 3/4 of them
/// used: std::unordered_map needs three times the memory. Linear probing, and deletion by
/// moving back, so that a table which tasks pass through for days stays as it is.
///
/// @par Cost  O(1) expected; grows by half, shrinks never
/// @par Test  PointerMap.*
class PointerMap {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  [[nodiscard]] std::uint32_t find(const void* key) const {
    if (used_ == 0) return kNone;
    const std::size_t slot = slot_of(key);
    return keys_[slot] != nullptr ? values_[slot] : kNone;
  }

  /// Inserts or overwrites.
  void put(const void* key, std::uint32_t value) {
    if ((used_ + 1) * 4 > keys_.size() * 3) grow();
    const std::size_t slot = slot_of(key);
    if (keys_[slot] == nullptr) {
      keys_[slot] = key;
      ++used_;
    }
    values_[slot] = value;
  }

  /// @return what was there, or kNone
  std::uint32_t erase(const void* key) {
    if (used_ == 0) return kNone;
    std::size_t hole = slot_of(key);
    if (keys_[hole] == nullptr) return kNone;
    const std::uint32_t value = values_[hole];
    for (std::size_t next = after(hole); keys_[next] != nullptr; next = after(next)) {
      // May move back unless its home lies in (hole, next].
      if (distance(home(keys_[next]), next) < distance(hole, next)) continue;
      keys_[hole] = keys_[next];
      values_[hole] = values_[next];
      hole = next;
    }
    keys_[hole] = nullptr;
    --used_;
    return value;
  }

  [[nodiscard]] std::size_t size() const { return used_; }

 private:
  [[nodiscard]] std::size_t home(const void* key) const {
    // Fibonacci hashing, its upper half scaled to the table.
    const auto bits = reinterpret_cast<std::uintptr_t>(key);
    return static_cast<std::size_t>((bits * 0x9e3779b97f4a7c15U >> 32) * keys_.size() >>
                                    32);
  }
  [[nodiscard]] std::size_t after(std::size_t slot) const {
    return slot + 1 < keys_.size() ? slot + 1 : 0;
  }
  [[nodiscard]] std::size_t distance(std::size_t from, std::size_t to) const {
    return to >= from ? to - from : to + keys_.size() - from;
  }
  /// Where `key` is, or the free slot where it belongs.
  [[nodiscard]] std::size_t slot_of(const void* key) const {
    std::size_t slot = home(key);
    while (keys_[slot] != nullptr && keys_[slot] != key) slot = after(slot);
    return slot;
  }
  void grow() {
    const std::size_t capacity = keys_.empty() ? 64 : keys_.size() + keys_.size() / 2;
    std::vector<const void*> keys(capacity);
    std::vector<std::uint32_t> values(capacity);
    keys.swap(keys_);
    values.swap(values_);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (keys[i] == nullptr) continue;
      const std::size_t slot = slot_of(keys[i]);
      keys_[slot] = keys[i];
      values_[slot] = values[i];
    }
  }

  std::vector<const void*> keys_;  // nullptr: free
  std::vector<std::uint32_t> values_;
  std::size_t used_ = 0;
};

}  // namespace espalier::policy
