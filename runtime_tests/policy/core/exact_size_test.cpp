#include "policy/core/exact_size.h"

#include <gtest/gtest.h>

namespace espalier::policy {
namespace TEST_SOURCE {

constexpr Bytes kMiB = Bytes{1} << 20;

TEST(ExactSize, HasNoBytesWhereNothingIsRounded) {
  EXPECT_EQ(exact_size(0), "0 B");
  EXPECT_EQ(exact_size(1023), "1023 B");
  EXPECT_EQ(exact_size(1536), "1.5 KiB");
  EXPECT_EQ(exact_size(4 * kMiB), "4.0 MiB");
  EXPECT_EQ(exact_size((Bytes{1} << 50) * 3 / 2), "1.5 PiB");
}

TEST(ExactSize, HasThemWhereASizeIsRounded) {
  EXPECT_EQ(exact_size(4 * kMiB - 1), "4.0 MiB (4194303 bytes)");
  EXPECT_EQ(exact_size(4 * kMiB + 1), "4.0 MiB (4194305 bytes)");
  EXPECT_EQ(exact_size(1025), "1.0 KiB (1025 bytes)");
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
