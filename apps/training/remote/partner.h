#pragma once

#include <map>
#include <mutex>
#include <span>

#include "solver/distributed/channel.h"
#include "solver/memory/page_buffer.h"
#include "training/chain/slot_store.h"

namespace espalier::training {

// Slots in the memory of a partner process. Who receives asks, as Channel has it, so
// that a receive waits for every message of data:
//
//   write   owner: kStore ->   partner: kState ->   owner: data ->   partner: kStored ->
//   fetch   owner: kLoad ->    partner: data ->
//
// A write is done when the partner says so, so that what comes after it on the same bytes
// finds them there.

/// The slots as the process sees them that computes.
class PartnerStore final : public SlotStore {
 public:
  /// @param channel  between two processes; outlives this
  /// @param partner    rank of the process that has LentSlots
  PartnerStore(solver::Channel& channel, std::int32_t partner);
  ~PartnerStore() override;

  void write(Bytes offset, std::span<std::byte> data,
             std::function<void()> done) override;
  void fetch(Bytes offset, std::span<std::byte> data,
             std::function<void()> done) override;
  void check() override {}  // a partner that is lost ends the job

 private:
  struct Write {
    std::span<std::byte> data;
    std::function<void()> done;
  };
  void serve(const solver::DataRequest& request);

  solver::Channel& channel_;
  std::int32_t partner_;
  std::mutex mutex_;
  std::map<Bytes, Write> writes_;  // under way, by offset
};

/// The memory of the slots, at the partner: allocated, and resident, once.
class LentSlots {
 public:
  /// @throws Error when the system refuses
  explicit LentSlots(Bytes bytes) : memory_(bytes) {}

  /// From now on requests are answered, until the channel ends.
  /// @param channel  ends before this
  void serve(solver::Channel& channel);

 private:
  [[nodiscard]] std::span<std::byte> place(const solver::DataRequest& request) const;

  solver::PageBuffer memory_;
};

}  // namespace espalier::training
