#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace espalier::policy {

/// Non-null pointers to 32-bit indices, 12 bytes a slot, at most 3/4 of them used: what
/// std::unordered_map needs four times the memory for. Linear probing, and deletion by
/// moving back, so that a table which tasks pass through for days stays as it is.
///
/// @par Cost  O(1) expected; grows by doubling, shrinks never
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
    const std::size_t mask = keys_.size() - 1;
    for (std::size_t next = (hole + 1) & mask; keys_[next] != nullptr;
         next = (next + 1) & mask) {
      // May move back unless its home lies in (hole, next].
      if (((next - home(keys_[next])) & mask) < ((next - hole) & mask)) continue;
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
    // Fibonacci hashing: the upper bits of the product depend on all bits of the key.
    const auto bits = reinterpret_cast<std::uintptr_t>(key);
    return static_cast<std::size_t>(bits * 0x9e3779b97f4a7c15U >> shift_);
  }
  /// Where `key` is, or the free slot where it belongs.
  [[nodiscard]] std::size_t slot_of(const void* key) const {
    const std::size_t mask = keys_.size() - 1;
    std::size_t slot = home(key);
    while (keys_[slot] != nullptr && keys_[slot] != key) slot = (slot + 1) & mask;
    return slot;
  }
  void grow() {
    const std::size_t capacity = keys_.empty() ? 64 : 2 * keys_.size();
    std::vector<const void*> keys(capacity);
    std::vector<std::uint32_t> values(capacity);
    keys.swap(keys_);
    values.swap(values_);
    shift_ = 64 - std::countr_zero(capacity);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (keys[i] == nullptr) continue;
      const std::size_t slot = slot_of(keys[i]);
      keys_[slot] = keys[i];
      values_[slot] = values[i];
    }
  }

  std::vector<const void*> keys_;  // a power of two of them, nullptr: free
  std::vector<std::uint32_t> values_;
  std::size_t used_ = 0;
  int shift_ = 64;
};

}  // namespace espalier::policy
