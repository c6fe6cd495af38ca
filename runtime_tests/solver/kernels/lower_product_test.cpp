// Products taken from a trapezoid by vectors, beside plain loops.

#include "solver/kernels/lower_product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "random_entries.h"

namespace espalier::solver::kernels {
namespace TEST_SOURCE {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// C - A B^T, of random entries; what is not to be read or written is NaN.
struct Instance {
  std::int32_t m, n, k, lda, ldb, ldc;
  std::vector<double> a, b, c;

  [[nodiscard]] bool subtract(bool half) {
    return subtract_lower_product(m, n, k, a.data(), lda, b.data(), ldb, c.data(), ldc,
                                  half);
  }
};

class LowerProduct : public RandomEntries<double> {
 protected:
  LowerProduct() : RandomEntries<double>(21) {}

  Instance draw_instance(std::int32_t m, std::int32_t n, std::int32_t k) {
    Instance one{
        .m = m, .n = n, .k = k, .lda = m, .ldb = n, .ldc = m, .a = {}, .b = {}, .c = {}};
    for (std::int32_t* ld : {&one.lda, &one.ldb, &one.ldc})
      *ld = std::max(1, *ld + draw(0, 9));
    one.a.assign(std::size_t(one.lda) * k, kNan);
    one.b.assign(std::size_t(one.ldb) * k, kNan);
    one.c.assign(std::size_t(one.ldc) * n, kNan);
    for (std::int32_t q = 0; q < k; ++q) {
      for (std::int32_t i = 0; i < m; ++i) one.a[i + std::size_t(q) * one.lda] = value();
      for (std::int32_t j = 0; j < n; ++j) one.b[j + std::size_t(q) * one.ldb] = value();
    }
    for (std::int32_t j = 0; j < n; ++j)
      for (std::int32_t i = j; i < m; ++i) one.c[i + std::size_t(j) * one.ldc] = value();
    return one;
  }
};

void expect_product(const Instance& before, const Instance& after) {
  EXPECT_EQ(after.a.size(), before.a.size());
  for (std::int32_t j = 0; j < before.n; ++j)
    for (std::int32_t i = 0; i < before.ldc; ++i) {
      const std::size_t at = i + std::size_t(j) * before.ldc;
      if (i < j || i >= before.m) {
        ASSERT_TRUE(std::isnan(after.c[at])) << "written: " << i << " " << j;
        continue;
      }
      double expected = before.c[at];
      for (std::int32_t q = 0; q < before.k; ++q)
        expected -= before.a[i + std::size_t(q) * before.lda] *
                    before.b[j + std::size_t(q) * before.ldb];
      ASSERT_NEAR(after.c[at], expected, 1e-14 * (1 + before.k)) << i << " " << j;
    }
}

// C of the identity's first 8 columns less 1 1^T: 9 rows, one more than a tile has.
TEST_F(LowerProduct, OfOnesByHand) {
  std::vector<double> ones(9, 1), c(9 * 8, 5);
  for (std::int32_t j = 0; j < 8; ++j)
    for (std::int32_t i = j; i < 9; ++i) c[i + 9 * j] = i == j;
  if (!subtract_lower_product(9, 8, 1, ones.data(), 9, ones.data(), 9, c.data(), 9))
    GTEST_SKIP() << "not for this processor";
  for (std::int32_t j = 0; j < 8; ++j)
    for (std::int32_t i = 0; i < 9; ++i)
      EXPECT_EQ(c[i + 9 * j], i < j ? 5 : i == j ? 0 : -1) << i << " " << j;
}

TEST_F(LowerProduct, MatchesPlainLoops) {
  for (const bool half : {false, true})
    for (int instance = 0; instance < 400; ++instance) {
      const std::int32_t n = draw(0, 50), m = n + (draw(0, 2) == 0 ? 0 : draw(0, 60));
      Instance one = draw_instance(m, n, draw(0, 9) == 0 ? draw(0, 256) : draw(0, 20));
      const Instance before = one;
      if (!one.subtract(half)) GTEST_SKIP() << "not for this processor";
      expect_product(before, one);
      if (HasFailure()) FAIL() << "m " << m << ", n " << n << ", k " << one.k;
    }
}

TEST_F(LowerProduct, IsNotForMoreProducts) {
  Instance one = draw_instance(20, 8, 257);
  const std::vector<double> before = one.c;
  EXPECT_FALSE(one.subtract(false));
  for (std::size_t at = 0; at < before.size(); ++at)
    EXPECT_TRUE(one.c[at] == before[at] || std::isnan(before[at]));
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver::kernels
