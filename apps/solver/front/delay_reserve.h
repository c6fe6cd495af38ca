#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "espalier/model/error.h"
#include "espalier/model/units.h"

namespace espalier::solver {

/// What may be put off in a front that processes share: the same at each of them, for it
/// was dealt out before the factorisation. So nobody has to be asked.
struct SharedDelays {
  Bytes slots = 0;              ///< for bytes_of_slots()
  std::int32_t from_child = 0;  ///< columns that each of its children may delay

  /// What every process has of so many slots of a front, at most: beside the panel, in
  /// the tail, and what is sent.
  [[nodiscard]] static Bytes bytes_of_slots(std::int64_t order, std::int64_t slots,
                                            std::int32_t sides, Bytes entry_bytes) {
    return checked_mul(entry_bytes * sides, checked_mul(slots, 3 * order + 2 * slots));
  }
};

/// Memory kept for columns that are delayed to a parent: whoever delays pays first, for
/// its own copies and for what the parent's panel grows by. Safe from any thread.
class DelayReserve {
 public:
  explicit DelayReserve(Bytes bytes) : left_(bytes) {}

  /// Pays for `count` more columns that front `parent` (-1: none) will receive.
  /// @param own          bytes in the front that delays them
  /// @param panel_bytes  what a panel of the parent costs beside the plan with so many
  ///                     delayed columns
  /// @return false, and nothing is paid, when not so much is left
  [[nodiscard]] bool pay(std::int32_t parent, std::int32_t count, Bytes own,
                         const std::function<Bytes(std::int32_t)>& panel_bytes) {
    const std::scoped_lock lock(mutex_);
    Bytes price = own;
    std::int32_t* const before = parent >= 0 ? &incoming_[parent] : nullptr;
    if (before != nullptr) price += panel_bytes(*before + count) - panel_bytes(*before);
    if (price > left_) return false;
    left_ -= price;
    if (before != nullptr) *before += count;
    return true;
  }

  /// Before anything is paid: `bytes` are for shared fronts, of which `fronts` says what.
  void deal_out(Bytes bytes, std::map<std::int32_t, SharedDelays> fronts) {
    left_ -= bytes;
    shared_ = std::move(fronts);
  }
  [[nodiscard]] SharedDelays shared(std::int32_t front) const {
    const auto place = shared_.find(front);
    return place == shared_.end() ? SharedDelays{} : place->second;
  }

 private:
  std::mutex mutex_;
  Bytes left_;
  std::unordered_map<std::int32_t, std::int32_t> incoming_;  // of each front; none: 0
  std::map<std::int32_t, SharedDelays> shared_;  // not changed while fronts are factored
};

}  // namespace espalier::solver
