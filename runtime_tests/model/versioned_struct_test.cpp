#include "espalier/model/versioned_struct.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace espalier {
namespace TEST_SOURCE {

struct First {
  std::size_t size;
  std::int64_t a;
};
struct Second {
  std::size_t size;
  std::int64_t a, b;
};
struct Third {
  std::size_t size;
  std::int64_t a, b, c;
};
constexpr std::size_t kSizes[] = {sizeof(First), sizeof(Second)};  // of the library

Second read(void* given) {
  return versioned(*static_cast<const Second*>(given), kSizes, "options");
}

TEST(VersionedStruct, ReadsAnOlderCallersWithDefaultsForTheRest) {
  struct {
    First options{sizeof(First), 5};
    std::int64_t beside = 9;  // the caller's, not to be read
  } old;
  const Second read_as = read(&old.options);
  EXPECT_EQ(read_as.a, 5);
  EXPECT_EQ(read_as.b, 0);
  EXPECT_EQ(read_as.size, sizeof(Second));
}

TEST(VersionedStruct, ReadsANewerCallersWhereTheRestIsZero) {
  Third later{sizeof(Third), 5, 6, 0};
  EXPECT_EQ(read(&later).b, 6);
  later.c = 1;
  EXPECT_THROW((void)read(&later), InvalidInput);
}

TEST(VersionedStruct, RefusesSizesThatNoVersionHad) {
  for (const std::size_t size : {0UL, 8UL, 15UL, 17UL, 23UL, 4097UL, ~0UL}) {
    Third options{size, 0, 0, 0};
    EXPECT_THROW((void)read(&options), InvalidInput) << size;
  }
}

TEST(VersionedStruct, FillsWhatTheCallerHas) {
  const Second all{0, 5, 6};
  struct {
    First facts{sizeof(First), 0};
    std::int64_t beside = 9;
  } old;
  give_versioned(all, kSizes, "facts", *reinterpret_cast<Second*>(&old));
  EXPECT_EQ(old.facts.a, 5);
  EXPECT_EQ(old.facts.size, sizeof(First));
  EXPECT_EQ(old.beside, 9);
  Third later{sizeof(Third), 0, 0, 7};
  give_versioned(all, kSizes, "facts", *reinterpret_cast<Second*>(&later));
  EXPECT_EQ(later.b, 6);
  EXPECT_EQ(later.c, 0);
  EXPECT_EQ(later.size, sizeof(Third));
}

}  // namespace TEST_SOURCE
}  // namespace espalier
