#include "solver/memory/zeroed_vector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <limits>
#include <numeric>

#include "solver/memory/process_memory.h"

namespace espalier::solver {
namespace TEST_SOURCE {

// Lengths around that from which on there are pages.
TEST(ZeroedVector, IsZeroAlsoWhereTheHeapWasUsedBefore) {
  for (const std::size_t length :
       {0, 1, 1000, (1 << 14) - 1, 1 << 14, (1 << 14) + 1, 1 << 20})
    for (int turn = 0; turn < 3; ++turn) {
      ZeroedVector<std::int64_t> numbers(length);
      ASSERT_EQ(std::ranges::count(numbers, 0), std::ssize(numbers)) << length;
      std::ranges::fill(numbers, -1);
    }
}

TEST(ZeroedVector, ComplexNumbersAreZero) {
  const ZeroedVector<std::complex<double>> numbers(3);
  EXPECT_EQ(numbers[2], std::complex<double>());
}

TEST(ZeroedVector, HasPagesWhereItIsTouched) {
  constexpr std::size_t kLength = 8 << 20;  // 64 MiB
  constexpr Bytes kPart = Bytes{16} << 20, kOthers = Bytes{4} << 20;
  const Bytes before = resident_bytes();
  ZeroedVector<std::int64_t> numbers(kLength);
  EXPECT_LT(resident_bytes() - before, kOthers);
  std::iota(numbers.end() - (kPart >> 3), numbers.end(), 0);
  EXPECT_GE(resident_bytes() - before, kPart - kOthers);
  EXPECT_LT(resident_bytes() - before, kPart + kOthers);
  const ZeroedVector<std::int64_t> taken = std::move(numbers);
  EXPECT_LT(resident_bytes() - before, kPart + kOthers);
  EXPECT_EQ(taken.back(), (kPart >> 3) - 1);
}

TEST(ZeroedVector, RefusesWhatThereIsNoRoomFor) {
  ZeroedPages<std::int64_t> pages;
  EXPECT_THROW((void)pages.allocate(std::numeric_limits<std::size_t>::max() / 2),
               std::bad_alloc);
  EXPECT_THROW((void)pages.allocate(std::numeric_limits<std::size_t>::max() / 16),
               std::bad_alloc);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
