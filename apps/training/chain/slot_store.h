#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "espalier/model/units.h"

namespace espalier::training {

/// Where slots for states are that are not in this process's memory: bytes at offsets,
/// written and read as the executor says, by threads of the store's own.
class SlotStore {
 public:
  SlotStore() = default;
  virtual ~SlotStore() = default;
  SlotStore(const SlotStore&) = delete;
  SlotStore& operator=(const SlotStore&) = delete;

  /// Begin a transfer and return; safe from any thread. The data stay as they are until
  /// `done` has run, on a thread of the store's; it must not throw. Of two transfers of
  /// the same bytes the second begins when the first is done. After a failure `done` runs
  /// too. @throws Error an earlier failure; then `done` never runs
  virtual void write(Bytes offset, std::span<std::byte> data,
                     std::function<void()> done) = 0;
  virtual void fetch(Bytes offset, std::span<std::byte> data,
                     std::function<void()> done) = 0;

  /// @throws Error the first failure of a transfer
  virtual void check() = 0;
};

}  // namespace espalier::training
