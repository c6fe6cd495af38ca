#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "training/chain/chain.h"
#include "training/chain/slot_store.h"

namespace espalier::training {

/// Slots for states in a SlotStore.
///
/// store() and load() return at once. A part of a state is written when the tasks
/// submitted before have left it as it is to be, and tasks submitted later that would
/// change it wait until it is written; likewise it is read when those before are done
/// with the buffer, and those after wait until it is there. No worker waits: the store's
/// own thread does it. On one slot, stores and loads happen in the order of the calls.
class SlotLevel {
 public:
  /// @param where  outlives this
  SlotLevel(SlotStore& where, const Chain& chain, FirstError& errors);
  SlotLevel(const SlotLevel&) = delete;
  SlotLevel& operator=(const SlotLevel&) = delete;
  ~SlotLevel();

  void store(std::int64_t slot, const StateBuffer& from);
  void load(std::int64_t slot, const StateBuffer& to);

  /// Returns when everything asked for has been done or given up.
  void wait();

 private:
  // One part of a store or a load: it has to wait for its buffer, and for what was asked
  // before on the same part of the same slot.
  struct Transfer {
    SlotLevel* level;
    starpu_data_handle_t handle;
    std::byte* data;
    Bytes offset, bytes;
    bool loads;
    bool acquired = false, begun = false;
  };

  void ask(std::int64_t slot, const StateBuffer& buffer, bool loads);
  static void acquired(void* transfer) noexcept;
  void begin_next(Bytes offset) noexcept;
  [[nodiscard]] bool begin(const Transfer& transfer) noexcept;
  void end(Bytes offset) noexcept;

  SlotStore& where_;
  FirstError& errors_;
  std::vector<Bytes> parts_;
  Bytes state_bytes_;
  std::mutex mutex_;
  std::condition_variable done_;
  std::map<Bytes, std::deque<std::unique_ptr<Transfer>>> asked_;  // by offset
  std::int64_t pending_ = 0;
};

}  // namespace espalier::training
