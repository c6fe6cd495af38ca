#include "policy/core/block_ledger.h"

#include <algorithm>

#include "espalier/model/error.h"

namespace espalier::policy {

BlockLedger::Block BlockLedger::add(const void* address, Bytes bytes, Owner owner) {
  const std::uint32_t index = blocks_.take({bytes, Datum::kNone, owner});
  block_at_.put(address, index);
  if (blocks_[index].counts()) count(bytes);
  if (owner == Owner::kMessage) count_message(bytes);
  return Block{index};
}

Bytes BlockLedger::become(Block block, Owner owner) {
  Entry& b = entry(block);
  if (!b.counts()) count(b.bytes);
  if (b.owner == Owner::kMessage) count_message(-b.bytes);
  const Bytes extra = b.owner == Owner::kExtra ? b.bytes : 0;
  if (extra > 0) count_extra(-extra);
  b.owner = owner;
  if (owner == Owner::kExtra) count_extra(b.bytes);
  return extra;
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
  if (b.owner == Owner::kExtra) count_extra(-b.bytes);
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

void BlockLedger::count_extra(Bytes bytes) {
  extra_ += bytes;
  extra_peak_ = std::max(extra_peak_, extra_);
}

}  // namespace espalier::policy
