// What tasks wait for, where memory is used again and again.

#include "training/step/conflicts.h"

#include <gtest/gtest.h>

#include <random>

namespace espalier::training {
namespace TEST_SOURCE {

using Accesses = std::vector<std::vector<MemoryAccess>>;

bool touch(const MemoryAccess& a, const MemoryAccess& b) {
  return a.begin < b.begin + static_cast<std::uintptr_t>(b.bytes) &&
         b.begin < a.begin + static_cast<std::uintptr_t>(a.bytes);
}

// Who waits for whom at last: reachable[i][j], j < i.
std::vector<std::vector<bool>> closure(
    const std::vector<std::vector<std::int32_t>>& before) {
  std::vector<std::vector<bool>> reachable(before.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    reachable[i].assign(i, false);
    for (const std::int32_t each : before[i]) {
      const auto j = static_cast<std::size_t>(each);
      reachable[i][j] = true;
      for (std::size_t k = 0; k < j; ++k)
        if (reachable[j][k]) reachable[i][k] = true;
    }
  }
  return reachable;
}

// Every pair that shares a byte which one of them writes.
std::vector<std::vector<std::int32_t>> all_pairs(const Accesses& order) {
  std::vector<std::vector<std::int32_t>> before(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      bool conflict = false;
      for (const MemoryAccess& a : order[i])
        for (const MemoryAccess& b : order[j])
          conflict = conflict || ((a.writes || b.writes) && touch(a, b));
      if (conflict) before[i].push_back(static_cast<std::int32_t>(j));
    }
  return before;
}

TEST(Conflicts, AWriterWaitsForTheReadersOfWhatLayThere) {
  const Accesses order = {{{0, 64, true}},
                          {{0, 64, false}, {64, 64, true}},
                          {{0, 64, false}, {128, 64, true}},
                          {{32, 64, true}}};  // over the end of one and half of another
  const std::vector<std::vector<std::int32_t>> expected = {{}, {0}, {0}, {1, 2}};
  EXPECT_EQ(conflicts(order), expected);
}

TEST(Conflicts, AreThoseOfAllPairs) {
  std::mt19937_64 random(17);
  for (int instance = 0; instance < 2000; ++instance) {
    Accesses order(2 + random() % 12);
    for (auto& accesses : order)
      for (std::size_t i = 0; i < 1 + random() % 3; ++i)
        accesses.push_back(
            {random() % 24, static_cast<Bytes>(1 + random() % 8), random() % 2 == 0});
    const auto found = conflicts(order);
    EXPECT_EQ(closure(found), closure(all_pairs(order))) << "instance " << instance;
  }
}

TEST(Conflicts, OfALongChainAreFew) {
  Accesses order(20000);
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = {{i % 7 * 64, 64, false}, {(i + 1) % 7 * 64, 64, true}};
  std::size_t count = 0;
  for (const auto& before : conflicts(order)) count += before.size();
  EXPECT_LT(count, 3 * order.size());
}

}  // namespace TEST_SOURCE
}  // namespace espalier::training
