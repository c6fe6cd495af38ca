#include "espalier/model/exact_size.h"

#include <gtest/gtest.h>

#include <limits>

namespace espalier {
namespace TEST_SOURCE {

constexpr Bytes kMiB = Bytes{1} << 20;

TEST(ExactSize, HasNoBytesWhereNothingIsRounded) {
  EXPECT_EQ(exact_size(0), "0 B");
  EXPECT_EQ(exact_size(1023), "1023 B");
  EXPECT_EQ(exact_size(1536), "1.5 KiB");
  EXPECT_EQ(exact_size(4 * kMiB), "4.0 MiB");
  EXPECT_EQ(exact_size((Bytes{1} << 50) * 3 / 2), "1.5 PiB");
  EXPECT_EQ(exact_size(Bytes{1} << 60), "1.0 EiB");
}

TEST(ExactSize, HasThemWhereASizeIsRounded) {
  EXPECT_EQ(exact_size(4 * kMiB - 1), "4.0 MiB (4194303 bytes)");
  EXPECT_EQ(exact_size(4 * kMiB + 1), "4.0 MiB (4194305 bytes)");
  EXPECT_EQ(exact_size(1025), "1.0 KiB (1025 bytes)");
  // A whole number of PiB, which is not shown in PiB.
  EXPECT_EQ(exact_size(Bytes{1075} << 50), "1.0 EiB (1210342399855820800 bytes)");
  EXPECT_EQ(exact_size(std::numeric_limits<Bytes>::max()),
            "8.0 EiB (9223372036854775807 bytes)");
}

TEST(SizeWithBytes, HasBoth) { EXPECT_EQ(size_with_bytes(1024), "1.0 KiB (1024 bytes)"); }

}  // namespace TEST_SOURCE
}  // namespace espalier
