#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "espalier/sequential/downsets/downset_block.h"

namespace espalier {

/// A set of downsets, each given by the tasks that may be next.
class VisitedDownsets {
 public:
  /// `ready` in increasing order.
  [[nodiscard]] bool contains(std::span<const BlockTaskId> ready) const;
  /// Only what it does not contain.
  void add(std::span<const BlockTaskId> ready);
  [[nodiscard]] std::size_t bytes() const {
    return tasks_.capacity() * sizeof(BlockTaskId) +
           first_.capacity() * sizeof(std::size_t) + slots_.capacity() * sizeof(Slot);
  }

 private:
  struct Slot {
    std::uint32_t tag = 0;  // part of the hash
    std::int32_t number = -1;
  };
  [[nodiscard]] std::size_t size() const { return first_.size() - 1; }
  [[nodiscard]] bool equals(std::int32_t number,
                            std::span<const BlockTaskId> ready) const;
  [[nodiscard]] std::size_t free_slot(std::uint64_t hash) const;
  void grow();

  std::vector<BlockTaskId> tasks_;
  std::vector<std::size_t> first_ = {0};  // offsets into tasks_
  std::vector<std::uint64_t> hash_;
  std::vector<Slot> slots_ = std::vector<Slot>(64);  // a power of two
};

}  // namespace espalier
