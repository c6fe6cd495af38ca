#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "espalier/model/units.h"

namespace espalier::solver {

/// Memory kept for columns that are delayed to a parent: whoever delays pays first, for
/// its own copies and for what the parent's panel grows by. Safe from any thread.
class DelayReserve {
 public:
  DelayReserve(Bytes bytes, std::size_t fronts) : left_(bytes), incoming_(fronts, 0) {}

  /// Pays for `count` more columns that front `parent` (-1: none) will receive.
  /// @param own          bytes in the front that delays them
  /// @param panel_bytes  what a panel of the parent costs beside the plan with so many
  ///                     delayed columns
  /// @return false, and nothing is paid, when not so much is left
  [[nodiscard]] bool pay(std::int32_t parent, std::int32_t count, Bytes own,
                         const std::function<Bytes(std::int32_t)>& panel_bytes) {
    const std::scoped_lock lock(mutex_);
    Bytes price = own;
    if (parent >= 0)
      price += panel_bytes(incoming_[parent] + count) - panel_bytes(incoming_[parent]);
    if (price > left_) return false;
    left_ -= price;
    if (parent >= 0) incoming_[parent] += count;
    return true;
  }

 private:
  std::mutex mutex_;
  Bytes left_;
  std::vector<std::int32_t> incoming_;
};

}  // namespace espalier::solver
