#include "espalier/model/units.h"

#include <gtest/gtest.h>

#include <limits>

#include "espalier/model/error.h"

namespace espalier {
namespace TEST_SOURCE {

constexpr Bytes kMost = std::numeric_limits<Bytes>::max();

TEST(CheckedArithmetic, IsExactInsideTheRangeAndThrowsOutside) {
  EXPECT_EQ(checked_add(kMost - 1, 1), kMost);
  EXPECT_EQ(checked_sub(-kMost, 1), std::numeric_limits<Bytes>::min());
  EXPECT_EQ(checked_mul(Bytes{1} << 31, Bytes{1} << 31), Bytes{1} << 62);
  EXPECT_THROW((void)checked_add(kMost, 1), OverflowError);
  EXPECT_THROW((void)checked_sub(-kMost, 2), OverflowError);
  EXPECT_THROW((void)checked_mul(Bytes{1} << 32, Bytes{1} << 31), OverflowError);
}

TEST(CheckedArithmetic, NamesBothOperands) {
  try {
    (void)checked_add(kMost, 7);
    FAIL();
  } catch (const OverflowError& error) {
    EXPECT_STREQ(error.what(), "9223372036854775807 + 7 leaves the 64-bit range");
  }
}

TEST(ParseSize, ReadsEveryUnitInAnyCase) {
  EXPECT_EQ(parse_size("0"), 0);
  EXPECT_EQ(parse_size("4096"), 4096);
  EXPECT_EQ(parse_size("12b"), 12);
  EXPECT_EQ(parse_size("3kB"), 3000);
  EXPECT_EQ(parse_size("2 GB"), 2'000'000'000);
  EXPECT_EQ(parse_size("1TB"), 1'000'000'000'000);
  EXPECT_EQ(parse_size("512MiB"), Bytes{512} << 20);
  EXPECT_EQ(parse_size("1.5GIB"), Bytes{3} << 29);
  EXPECT_EQ(parse_size("7TiB"), Bytes{7} << 40);
}

TEST(ParseSize, RoundsAFractionOfAByteUpExactly) {
  EXPECT_EQ(parse_size("0.1B"), 1);
  EXPECT_EQ(parse_size("0.0005KB"), 1);
  EXPECT_EQ(parse_size("0.001KB"), 1);
  EXPECT_EQ(parse_size("0.00100000000000000000000000001KB"), 2);
  EXPECT_EQ(parse_size("0.3TB"), 300'000'000'000);
  EXPECT_EQ(parse_size("1.0000000"), 1);
}

TEST(ParseSize, RefusesWhatIsNotASize) {
  for (const char* text :
       {"",    " ",     "-1",  "+1",   "1.",  ".5",    "1.5.2", "GiB", "1 Gi", "1K",
        "1PB", "1MiBs", "1e3", "0x10", "nan", "1,5GB", "1iB",   "1 ",  " 1",   "1kkB"}) {
    EXPECT_THROW((void)parse_size(text), InvalidInput) << "'" << text << "'";
  }
}

TEST(ParseSize, RefusesWhatLeavesTheRange) {
  EXPECT_EQ(parse_size("9223372036854775807"), kMost);
  EXPECT_THROW((void)parse_size("9223372036854775808"), OverflowError);
  EXPECT_THROW((void)parse_size("8388608TiB"), OverflowError);
  EXPECT_THROW((void)parse_size("99999999999999999999999"), OverflowError);
  EXPECT_THROW((void)parse_size("9223372036854775807.5"), OverflowError);
}

TEST(FormatSize, ChoosesTheUnitThatFits) {
  EXPECT_EQ(format_size(0), "0 B");
  EXPECT_EQ(format_size(1023), "1023 B");
  EXPECT_EQ(format_size(1024), "1.0 KiB");
  EXPECT_EQ(format_size(Bytes{512} << 20), "512.0 MiB");
  EXPECT_EQ(format_size((Bytes{1} << 20) - 1), "1.0 MiB");
  EXPECT_EQ(format_size(kMost), "8.0 EiB");
}

}  // namespace TEST_SOURCE
}  // namespace espalier
