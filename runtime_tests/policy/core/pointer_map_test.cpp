#include "policy/core/pointer_map.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace espalier::policy {
namespace TEST_SOURCE {

const void* at(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }

// Any set of operations, against std::map. Keys are taken from a few so that they come
// again after they were erased.
void compare_with_map(const std::vector<const void*>& keys, int operations,
                      unsigned seed) {
  std::mt19937 random(seed);
  PointerMap map;
  std::map<const void*, std::uint32_t> reference;
  for (int i = 0; i < operations; ++i) {
    const void* const key = keys[random() % keys.size()];
    const auto found = reference.find(key);
    const std::uint32_t expected =
        found != reference.end() ? found->second : PointerMap::kNone;
    ASSERT_EQ(map.find(key), expected) << "operation " << i << ", seed " << seed;
    if (random() % 5 < 3) {
      map.put(key, static_cast<std::uint32_t>(i));
      reference[key] = static_cast<std::uint32_t>(i);
    } else {
      ASSERT_EQ(map.erase(key), expected) << "operation " << i << ", seed " << seed;
      reference.erase(key);
    }
    ASSERT_EQ(map.size(), reference.size());
    if (i % 1000 != 0) continue;
    for (const void* const each : keys) {
      const auto it = reference.find(each);
      ASSERT_EQ(map.find(each), it != reference.end() ? it->second : PointerMap::kNone)
          << "operation " << i << ", seed " << seed;
    }
  }
}

TEST(PointerMap, MatchesAMapOnKeysOfAllocations) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    std::vector<const void*> keys;
    for (std::uintptr_t i = 0; i < 1000; ++i) keys.push_back(at(0x7f0000000000 + 64 * i));
    compare_with_map(keys, 20'000, seed);
  }
}

// Keys whose hashes agree in all the bits that choose a slot: multiples of the inverse of
// the multiplier are a run of hashes one apart.
TEST(PointerMap, MatchesAMapOnKeysThatCollide) {
  std::uintptr_t inverse = 1;
  for (int i = 0; i < 6; ++i) inverse *= 2 - 0x9e3779b97f4a7c15U * inverse;
  ASSERT_EQ(inverse * 0x9e3779b97f4a7c15U, 1U);
  const std::uintptr_t starts[] = {0, ~std::uintptr_t{0} << 58};  // around the end too
  for (unsigned seed = 1; seed <= 5; ++seed) {
    std::vector<const void*> keys;
    for (const std::uintptr_t start : starts)
      for (std::uintptr_t i = 1; i <= 30; ++i) keys.push_back(at((start + i) * inverse));
    compare_with_map(keys, 20'000, seed);
  }
}

TEST(PointerMap, MatchesAMapOnAFewKeysInAFullTable) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<const void*> keys;
    for (int i = 0; i < 60; ++i) keys.push_back(at(random() | 1));
    compare_with_map(keys, 5'000, seed);
  }
}

TEST(PointerMap, IsEmptyAtFirst) {
  PointerMap map;
  EXPECT_EQ(map.size(), 0U);
  EXPECT_EQ(map.find(at(8)), PointerMap::kNone);
  EXPECT_EQ(map.erase(at(8)), PointerMap::kNone);
}

TEST(PointerMap, KeepsAMillionKeys) {
  constexpr std::uintptr_t kKeys = 1'000'000;
  PointerMap map;
  for (std::uintptr_t i = 1; i <= kKeys; ++i)
    map.put(at(16 * i), static_cast<std::uint32_t>(i));
  for (std::uintptr_t i = 1; i <= kKeys; ++i) ASSERT_EQ(map.find(at(16 * i)), i);
  for (std::uintptr_t i = 1; i <= kKeys; i += 2) ASSERT_EQ(map.erase(at(16 * i)), i);
  EXPECT_EQ(map.size(), kKeys / 2);
  for (std::uintptr_t i = 1; i <= kKeys; ++i)
    ASSERT_EQ(map.find(at(16 * i)), i % 2 != 0 ? PointerMap::kNone : i);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
