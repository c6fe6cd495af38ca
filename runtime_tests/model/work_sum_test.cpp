#include "espalier/model/work_sum.h"

#include <gtest/gtest.h>

#include <limits>

#include "espalier/model/error.h"

namespace espalier {
namespace TEST_SOURCE {

TEST(AddWork, ThrowsAboveTheMost) {
  EXPECT_EQ(add_work(1, 2), 3);
  EXPECT_EQ(add_work(0, kMostWork), kMostWork);
  EXPECT_THROW((void)add_work(kMostWork, kMostWork), OverflowError);
  EXPECT_THROW((void)add_work(0, std::numeric_limits<Flops>::infinity()), OverflowError);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
