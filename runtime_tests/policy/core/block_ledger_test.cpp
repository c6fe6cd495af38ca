#include "policy/core/block_ledger.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>

namespace espalier::policy {
namespace TEST_SOURCE {

using Block = BlockLedger::Block;
using Datum = BlockLedger::Datum;
using Owner = BlockLedger::Owner;

std::array<char, 64> places;
const void* place(std::size_t i) { return &places[i]; }

TEST(BlockLedger, FollowsABlockFromTheTaskThatFetchedItToItsEnd) {
  BlockLedger ledger;
  const Datum datum{3};
  ledger.begin(datum);
  const Block block = ledger.add(place(0), 100, Owner::kFetched);
  EXPECT_EQ(ledger.at(place(0)), block);
  EXPECT_EQ(ledger.allocated(), 100);
  EXPECT_EQ(ledger.allocated(datum), 0);
  EXPECT_EQ(ledger.give(block, datum), 0);
  EXPECT_EQ(ledger.datum(block), datum);
  EXPECT_EQ(ledger.allocated(datum), 100);
  EXPECT_EQ(ledger.freeing(place(0), true), block);
  EXPECT_EQ(ledger.at(place(0)), Block::kNone);  // its address may come again
  EXPECT_EQ(ledger.allocated(), 100);
  ledger.left(block);
  EXPECT_EQ(ledger.allocated(), 0);
  EXPECT_EQ(ledger.allocated(datum), 100);
  const BlockLedger::Freed freed = ledger.freed(block);
  EXPECT_EQ(freed.bytes, 100);
  EXPECT_EQ(freed.owner, Owner::kOwned);
  EXPECT_EQ(freed.datum, datum);
  EXPECT_TRUE(freed.evicted);
  EXPECT_EQ(ledger.allocated(datum), 0);
  EXPECT_EQ(ledger.allocated_peak(), 100);
}

TEST(BlockLedger, WhatIsUnknownIsNone) {
  BlockLedger ledger;
  EXPECT_EQ(ledger.at(place(1)), Block::kNone);
  EXPECT_EQ(ledger.freeing(place(1), false), Block::kNone);
  EXPECT_EQ(ledger.allocated(Datum{7}), 0);
}

TEST(BlockLedger, ForeignBlocksCountWhenTheyTurnOutToBeADatums) {
  BlockLedger ledger;
  ledger.begin(Datum{0});
  const Block block = ledger.add(place(0), 10, Owner::kForeign);
  EXPECT_EQ(ledger.allocated(), 0);
  ledger.give(block, Datum{0});
  EXPECT_EQ(ledger.allocated(), 10);
  ledger.disown(block);
  EXPECT_EQ(ledger.owner(block), Owner::kForeign);
  EXPECT_EQ(ledger.allocated(), 0);
  EXPECT_EQ(ledger.allocated(Datum{0}), 0);
}

TEST(BlockLedger, MessagesCountFromTheSizeThatIsNotSentAtOnce) {
  BlockLedger ledger;
  ledger.begin(Datum{0});
  const Block small = ledger.add(place(0), kSentAtOnce - 1, Owner::kMessage),
              large = ledger.add(place(1), kSentAtOnce, Owner::kMessage);
  EXPECT_EQ(ledger.allocated(), kSentAtOnce);
  EXPECT_EQ(ledger.messages_peak(), 2);
  EXPECT_EQ(ledger.message_peak(), 2 * kSentAtOnce - 1);
  ledger.give(small, Datum{0});
  EXPECT_EQ(ledger.allocated(), 2 * kSentAtOnce - 1);
  ledger.left(ledger.freeing(place(1), false));
  ledger.freed(large);
  EXPECT_EQ(ledger.allocated(), kSentAtOnce - 1);
  ledger.add(place(1), 5, Owner::kMessage);
  EXPECT_EQ(ledger.messages_peak(), 2);
}

TEST(BlockLedger, ExtraBytesAreToldWhenTheyFindADatum) {
  BlockLedger ledger;
  ledger.begin(Datum{0});
  const Block block = ledger.add(place(0), 10, Owner::kFetched);
  ledger.set_extra(block);
  EXPECT_EQ(ledger.extra_peak(), 10);
  EXPECT_EQ(ledger.give(block, Datum{0}), 10);
  ledger.set_extra(ledger.add(place(1), 5, Owner::kFetched));
  EXPECT_EQ(ledger.extra_peak(), 10);
  EXPECT_EQ(ledger.allocated(), 15);
}

TEST(BlockLedger, DisowningAllLeavesOthersAlone) {
  BlockLedger ledger;
  for (std::uint32_t d : {0U, 1U}) ledger.begin(Datum{d});
  for (std::size_t i = 0; i < 4; ++i)
    ledger.give(ledger.add(place(i), 10, Owner::kFetched),
                Datum{static_cast<std::uint32_t>(i % 2)});
  ledger.disown_all(Datum{1});
  EXPECT_EQ(ledger.allocated(Datum{0}), 20);
  EXPECT_EQ(ledger.allocated(Datum{1}), 0);
  EXPECT_EQ(ledger.owner(ledger.at(place(1))), Owner::kFetched);
  EXPECT_EQ(ledger.allocated(), 40);
}

// Against plain sums, with addresses and indices used again.
TEST(BlockLedger, SumsAreThoseOfItsBlocks) {
  struct Known {
    Bytes bytes;
    int datum;  // -1: fetched
  };
  std::mt19937 random(3);
  BlockLedger ledger;
  constexpr int kData = 5;
  for (std::uint32_t d = 0; d < kData; ++d) ledger.begin(Datum{d});
  std::map<std::size_t, Known> known;
  for (int step = 0; step < 20'000; ++step) {
    const std::size_t i = random() % places.size();
    const auto found = known.find(i);
    if (found == known.end()) {
      known[i] = {static_cast<Bytes>(1 + random() % 9), -1};
      ledger.add(place(i), known[i].bytes, Owner::kFetched);
    } else if (found->second.datum < 0) {
      found->second.datum = static_cast<int>(random() % kData);
      ledger.give(ledger.at(place(i)),
                  Datum{static_cast<std::uint32_t>(found->second.datum)});
    } else {
      const Block block = ledger.freeing(place(i), false);
      ledger.left(block);
      EXPECT_EQ(ledger.freed(block).bytes, found->second.bytes);
      known.erase(found);
    }
    Bytes all = 0, of_datum[kData] = {};
    for (const auto& [at, block] : known) {
      all += block.bytes;
      if (block.datum >= 0) of_datum[block.datum] += block.bytes;
    }
    ASSERT_EQ(ledger.allocated(), all);
    for (std::uint32_t d = 0; d < kData; ++d)
      ASSERT_EQ(ledger.allocated(Datum{d}), of_datum[d]);
  }
}

TEST(BlockLedger, CountsBlocksFromOutsideUntilTheirDatumIsKnown) {
  BlockLedger ledger;
  const Block first = ledger.add(place(0), 30, Owner::kOutside);
  const Block second = ledger.add(place(1), 40, Owner::kOutside);
  EXPECT_EQ(ledger.allocated(), 70);
  EXPECT_EQ(ledger.outside(), 70);
  ledger.begin(Datum{0});
  EXPECT_EQ(ledger.give(first, Datum{0}), 30);
  EXPECT_EQ(ledger.outside(), 40);
  EXPECT_EQ(ledger.freeing(place(1), false), second);
  ledger.left(second);
  EXPECT_EQ(ledger.freed(second).owner, Owner::kOutside);
  EXPECT_EQ(ledger.outside(), 0);
  EXPECT_EQ(ledger.outside_peak(), 70);
  EXPECT_EQ(ledger.outside_blocks(), 2);
  EXPECT_EQ(ledger.allocated(), 30);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
