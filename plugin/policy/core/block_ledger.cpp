#include "policy/core/block_ledger.h"

#include <algorithm>

#include "espalier/model/error.h"

namespace espalier::policy {

BlockLedger::Block BlockLedger::add(const void* address, Bytes bytes, Owner owner) {
  const std::uint32_t index = blocks_.take({bytes, Datum::kNone, owner});
  block_at_.put(address, index);
  if (blocks_[index].counts()) count(bytes);
  if (owner == Owner::kMessage) count_message(bytes);
  count_beside(owner, bytes);
  if (owner == Owner::kOutside) ++outside_blocks_;
  return Block{index};
}

Bytes BlockLedger::become(Block block, Owner owner) {
  Entry& b = entry(block);
  if (!b.counts()) count(b.bytes);
  if (b.owner == Owner::kMessage) count_message(-b.bytes);
  const bool beside = b.owner == Owner::kExtra || b.owner == Owner::kOutside;
  count_beside(b.owner, -b.bytes);
  b.owner = owner;
  count_beside(owner, b.bytes);
  return beside ? b.bytes : 0;
}

Bytes BlockLedger::give(Block block, Datum datum) {
  const Bytes extra = become(block, Owner::kOwned);
  Entry& b = entry(block);
  b.datum = datum;
  of_datum_[static_cast<std::size_t>(datum)] += b.bytes;
  return extra;
}

void BlockLedger::disown(Block block) {
  Entry& b = entry(block);
  ESPALIER_ASSERT(b.owner == Owner::kOwned, "an owned block");
  of_datum_[static_cast<std::size_t>(b.datum)] -= b.bytes;
  count(-b.bytes);
  b.owner = Owner::kForeign;
}

void BlockLedger::disown_all(Datum datum) {
  for (Entry& b : blocks_.items())
    if (b.owner == Owner::kOwned && b.datum == datum) b.owner = Owner::kFetched;
  of_datum_[static_cast<std::size_t>(datum)] = 0;
}

BlockLedger::Block BlockLedger::freeing(const void* address, bool evicted) {
  const Block block{block_at_.erase(address)};
  if (block != Block::kNone) entry(block).evicted = evicted;
  return block;
}

void BlockLedger::left(Block block) {
  const Entry& b = entry(block);
  if (b.counts()) count(-b.bytes);
  if (b.owner == Owner::kMessage) count_message(-b.bytes);
}

BlockLedger::Freed BlockLedger::freed(Block block) {
  Entry& b = entry(block);
  count_beside(b.owner, -b.bytes);
  if (b.owner == Owner::kOwned) of_datum_[static_cast<std::size_t>(b.datum)] -= b.bytes;
  const Freed freed{b.bytes, b.owner, b.datum, b.evicted};
  b.owner = Owner::kForeign;
  blocks_.give_back(static_cast<std::uint32_t>(block));
  return freed;
}

void BlockLedger::begin(Datum datum) {
  const auto i = static_cast<std::size_t>(datum);
  if (i >= of_datum_.size()) of_datum_.resize(i + 1);
  of_datum_[i] = 0;
}

void BlockLedger::count(Bytes bytes) {
  allocated_ += bytes;
  allocated_peak_ = std::max(allocated_peak_, allocated_);
}

// One more, or with negative bytes one less.
void BlockLedger::count_message(Bytes bytes) {
  message_ += bytes;
  messages_ += bytes < 0 ? -1 : 1;
  message_peak_ = std::max(message_peak_, message_);
  messages_peak_ = std::max(messages_peak_, messages_);
}

// Of an owner without a datum.
void BlockLedger::count_beside(Owner owner, Bytes bytes) {
  if (owner == Owner::kExtra) extra_ += bytes;
  if (owner == Owner::kOutside) outside_ += bytes;
  extra_peak_ = std::max(extra_peak_, extra_);
  outside_peak_ = std::max(outside_peak_, outside_);
}

}  // namespace espalier::policy
