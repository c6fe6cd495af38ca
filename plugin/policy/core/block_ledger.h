#pragma once

#include <cstdint>
#include <deque>

#include "espalier/parallel/banker.h"
#include "espalier/parallel/pool.h"
#include "policy/core/pointer_map.h"

namespace espalier::policy {

/// MPI libraries send smaller messages without waiting for the receiver, and programs may
/// rely on it.
inline constexpr Bytes kSentAtOnce = 4096;

/// Which blocks of memory are allocated, to which datum each belongs, and how much that
/// is.
///
///   foreign   nobody's that is known: not counted
///   message   StarPU-MPI's own: counted from kSentAtOnce on
///   fetched   allocated for a task, not known for which of its data
///   owned     a datum's
///   extra     allocated for a task, and of none of its data
///   outside   a datum's that no task asked for: not known whose
///
/// Addresses are used again; blocks have indices of their own. Not thread-safe.
///
/// @par Cost  O(1) expected, disown_all() excepted
/// @par Test  BlockLedger.*
class BlockLedger {
 public:
  using Datum = Banker::Datum;
  enum class Block : std::uint32_t { kNone = PointerMap::kNone };
  enum class Owner : std::uint8_t {
    kForeign,
    kMessage,
    kFetched,
    kOwned,
    kExtra,
    kOutside
  };

  [[nodiscard]] Block at(const void* address) const {
    return Block{block_at_.find(address)};
  }
  [[nodiscard]] Bytes bytes(Block block) const { return entry(block).bytes; }
  [[nodiscard]] Owner owner(Block block) const { return entry(block).owner; }
  /// Of an owned one.
  [[nodiscard]] Datum datum(Block block) const { return entry(block).datum; }

  /// A block that nothing is allocated at: foreign, message, fetched or outside.
  Block add(const void* address, Bytes bytes, Owner owner);
  /// From any other to fetched, owned or extra. @return bytes that are extra or
  /// outside no more
  Bytes fetch(Block block) { return become(block, Owner::kFetched); }
  Bytes give(Block block, Datum datum);
  void set_extra(Block block) { become(block, Owner::kExtra); }
  /// An owned block belongs to nobody after all.
  void disown(Block block);
  /// All of the datum's are fetched ones again. O(blocks)
  void disown_all(Datum datum);

  /// The block is about to be freed: its address may soon be another block's.
  /// `evicted`: for the sake of another datum. @return kNone: it is not known
  [[nodiscard]] Block freeing(const void* address, bool evicted);
  /// It is no longer allocated.
  void left(Block block);
  struct Freed {
    Bytes bytes;
    Owner owner;
    Datum datum;
    bool evicted;
  };
  /// Its bytes may be used for others, and its index for another block.
  Freed freed(Block block);

  /// In blocks that the datum owns. A datum's index may be used again when that is 0.
  [[nodiscard]] Bytes allocated(Datum datum) const {
    const auto i = static_cast<std::size_t>(datum);
    return i < of_datum_.size() ? of_datum_[i] : 0;
  }
  /// A new datum has the index.
  void begin(Datum datum);

  /// In blocks that count, now and at most.
  [[nodiscard]] Bytes allocated() const { return allocated_; }
  [[nodiscard]] Bytes allocated_peak() const { return allocated_peak_; }
  [[nodiscard]] Bytes extra_peak() const { return extra_peak_; }
  /// Outside: now, at most, and how many blocks there have been.
  [[nodiscard]] Bytes outside() const { return outside_; }
  [[nodiscard]] Bytes outside_peak() const { return outside_peak_; }
  [[nodiscard]] std::int64_t outside_blocks() const { return outside_blocks_; }
  [[nodiscard]] Bytes message_peak() const { return message_peak_; }
  [[nodiscard]] std::int64_t messages_peak() const { return messages_peak_; }

 private:
  struct Entry {
    Bytes bytes;
    Datum datum;
    Owner owner;
    bool evicted = false;  // when it is freed
    [[nodiscard]] bool counts() const {
      return owner != Owner::kForeign &&
             (owner != Owner::kMessage || bytes >= kSentAtOnce);
    }
  };
  [[nodiscard]] const Entry& entry(Block block) const {
    return blocks_[static_cast<std::uint32_t>(block)];
  }
  [[nodiscard]] Entry& entry(Block block) {
    return blocks_[static_cast<std::uint32_t>(block)];
  }
  Bytes become(Block block, Owner owner);
  void count(Bytes bytes);
  void count_message(Bytes bytes);
  void count_beside(Owner owner, Bytes bytes);

  Pool<Entry> blocks_;
  PointerMap block_at_;
  std::deque<Bytes> of_datum_;
  Bytes allocated_ = 0, allocated_peak_ = 0, extra_ = 0, extra_peak_ = 0;
  Bytes outside_ = 0, outside_peak_ = 0;
  std::int64_t outside_blocks_ = 0;
  Bytes message_ = 0, message_peak_ = 0;
  std::int64_t messages_ = 0, messages_peak_ = 0;
};

}  // namespace espalier::policy
