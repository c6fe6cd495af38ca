// L D L^T of narrow blocks without exchanges: by hand, multiplied out, and left alone
// where a pivot is not good enough.

#include "solver/kernels/narrow_ldlt.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "pivot_fixture.h"

namespace espalier::solver::kernels {
namespace TEST_SOURCE {

constexpr std::int32_t kWidest = 16;

/// The lower triangle of a block, and rows below it in two segments.
template <class T>
struct Block {
  std::int32_t width, below;
  std::vector<T> diagonal, rows, d;
  std::vector<std::int32_t> order;

  Block(std::int32_t w, std::int32_t m)
      : width(w),
        below(m),
        diagonal(std::size_t(w) * (w + 2), T(99)),
        rows(std::size_t(w) * m),
        d(2 * std::size_t(w), T(99)),
        order(w, -1) {}

  [[nodiscard]] T& at(std::int32_t i, std::int32_t j) {
    return i < width ? diagonal[i + std::size_t(j) * (width + 2)]
                     : rows[i - width + std::size_t(j) * below];
  }
  // All bits of it.
  [[nodiscard]] std::vector<std::byte> bits() const {
    std::vector<std::byte> all;
    for (const std::vector<T>* part : {&diagonal, &rows, &d}) {
      const auto bytes = std::as_bytes(std::span(*part));
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
    return all;
  }

  std::optional<PivotCounts> factor(const PivotRule& rule, std::int64_t least = 0) {
    const std::int32_t first = below / 3;
    const std::vector<RowSegment<T>> segments = {
        {rows.data(), below, first}, {rows.data() + first, below, below - first}};
    const PivotBlock<T> block{.width = width,
                              .diagonal = diagonal.data(),
                              .leading = width + 2,
                              .below = segments,
                              .right = {},
                              .row_order = order.data(),
                              .column_order = nullptr,
                              .d = d.data()};
    const std::int64_t room = least > 0 ? least : pivot_scratch(FactorKind::kLdlt, width);
    std::vector<T> scratch(static_cast<std::size_t>(room));
    return factor_narrow_ldlt(block, rule, std::span(scratch));
  }
};

template <class T>
class NarrowLdltBlock : public RandomEntries<T> {
 protected:
  NarrowLdltBlock() : RandomEntries<T>(12) {}

  // Every pivot is good: of one column with a large diagonal entry of either sign, of two
  // with a large entry between them and none on the diagonal.
  Block<T> good(std::int32_t w, std::int32_t m, std::int32_t& pairs) {
    Block<T> block(w, m);
    for (std::int32_t j = 0; j < w; ++j)
      for (std::int32_t i = j; i < w + m; ++i) block.at(i, j) = this->value();
    pairs = 0;
    for (std::int32_t j = 0; j < w; ++j) {
      const auto large = RealOf<T>((this->draw(0, 1) == 0 ? 4 : -4) * w);
      if (j + 1 < w && this->draw(0, 2) == 0) {
        block.at(j, j) = block.at(j + 1, j + 1) = 0;
        block.at(j + 1, j) = large;
        ++j, ++pairs;
      } else {
        block.at(j, j) = large;
      }
    }
    return block;
  }
};
TYPED_TEST_SUITE(NarrowLdltBlock, AllEntries);

// [4 2; 2 2] = [1; 1/2 1] diag(4, 1), below (8, 6) = (2, 2) D L^T.
TYPED_TEST(NarrowLdltBlock, OfTwoPivotsByHand) {
  Block<TypeParam> block(2, 1);
  block.at(0, 0) = 4, block.at(1, 0) = 2, block.at(1, 1) = 2;
  block.at(2, 0) = 8, block.at(2, 1) = 6;
  const auto counts = block.factor({});
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->eliminated, 2);
  EXPECT_EQ(counts->negative, 0);
  EXPECT_EQ(counts->two_by_two, 0);
  EXPECT_EQ(counts->smallest, 1);
  EXPECT_EQ(block.d, (std::vector<TypeParam>{4, 0, 1, 0}));
  EXPECT_EQ(block.at(0, 0), TypeParam(1));
  EXPECT_EQ(block.at(1, 0), TypeParam(0.5));
  EXPECT_EQ(block.at(1, 1), TypeParam(1));
  EXPECT_EQ(block.at(2, 0), TypeParam(2));
  EXPECT_EQ(block.at(2, 1), TypeParam(2));
  EXPECT_EQ(block.order, (std::vector<std::int32_t>{0, 1}));
}

// [0 2; 2 0] is one pivot; the row (4, 6) below is (3, 2) times it.
TYPED_TEST(NarrowLdltBlock, OfAPairByHand) {
  Block<TypeParam> block(2, 1);
  block.at(0, 0) = 0, block.at(1, 0) = 2, block.at(1, 1) = 0;
  block.at(2, 0) = 4, block.at(2, 1) = 6;
  const auto counts = block.factor({});
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->eliminated, 2);
  EXPECT_EQ(counts->two_by_two, 1);
  EXPECT_EQ(counts->negative, kHasInertia<TypeParam> ? 1 : 0);
  EXPECT_EQ(counts->smallest, 2);
  EXPECT_EQ(block.d, (std::vector<TypeParam>{0, 2, 0, 0}));
  EXPECT_EQ(block.at(1, 0), TypeParam(0));
  EXPECT_EQ(block.at(2, 0), TypeParam(3));
  EXPECT_EQ(block.at(2, 1), TypeParam(2));
}

// L D L^T = A, of the block and the rows below.
TYPED_TEST(NarrowLdltBlock, MultipliesOut) {
  using T = TypeParam;
  const double tolerance = 200 * std::numeric_limits<RealOf<T>>::epsilon();
  std::int32_t of_two = 0;
  for (int instance = 0; instance < 600; ++instance) {
    const std::int32_t w = this->draw(0, kWidest), m = this->draw(0, 40);
    std::int32_t pairs = 0;
    Block<T> block = this->good(w, m, pairs), given = block;
    const auto counts = block.factor({});
    ASSERT_TRUE(counts) << "w " << w << ", rows " << m;
    ASSERT_EQ(counts->eliminated, w);
    ASSERT_EQ(counts->two_by_two, pairs);
    of_two += pairs;
    const auto l = [&](std::int32_t i, std::int32_t k) {
      return i < k ? T(0) : block.at(i, k);
    };
    for (std::int32_t j = 0; j < w; ++j)
      for (std::int32_t i = j; i < w + m; ++i) {
        T sum(0);
        for (std::int32_t k = 0; k <= j; ++k) {
          sum += l(i, k) * block.d[2 * k] * across(l(j, k));
          const T off = block.d[2 * k + 1];
          if (off == T(0)) continue;
          sum += l(i, k + 1) * off * across(l(j, k));
          sum += l(i, k) * across(off) * across(l(j, k + 1));
        }
        ASSERT_LE(size_of(T(sum - given.at(i, j))), tolerance * 4 * w)
            << "w " << w << ", entry " << i << " " << j;
      }
  }
  EXPECT_GT(of_two, 300);
}

TYPED_TEST(NarrowLdltBlock, LeavesBlocksWithABadPivotAsTheyWere) {
  using T = TypeParam;
  const auto nan = T(std::numeric_limits<RealOf<T>>::quiet_NaN());
  for (int instance = 0; instance < 600; ++instance) {
    const std::int32_t w = this->draw(1, kWidest), m = this->draw(1, 30);
    const std::int32_t bad = this->draw(0, w - 1), below = w + this->draw(0, m - 1);
    PivotRule rule;
    std::int32_t pairs = 0;
    Block<T> block = this->good(w, m, pairs);
    switch (instance % 4) {
      case 0:  // no pivot
        for (std::int32_t k = 0; k <= bad; ++k) block.at(bad, k) = 0;
        for (std::int32_t k = bad; k < w + m; ++k) block.at(k, bad) = 0;
        break;
      case 1:  // not over `tiny`
        rule.tiny = 6 * w;
        break;
      case 2:  // L over the bound
        block.at(below, bad) = RealOf<T>(1000 * w);
        break;
      case 3:
        block.at(this->draw(bad, w + m - 1), bad) = nan;
        break;
    }
    const auto given = block.bits();
    ASSERT_FALSE(block.factor(rule)) << "case " << instance % 4 << ", w " << w;
    ASSERT_EQ(block.bits(), given);
  }
}

TYPED_TEST(NarrowLdltBlock, IsNotForWideBlocksNorForMoreRowsThanFit) {
  std::int32_t pairs = 0;
  Block<TypeParam> wide = this->good(kWidest + 1, 3, pairs);
  auto given = wide.bits();
  EXPECT_FALSE(wide.factor({}));
  EXPECT_EQ(wide.bits(), given);
  Block<TypeParam> long_one = this->good(4, 10, pairs);
  given = long_one.bits();
  EXPECT_FALSE(long_one.factor({}, 39));
  EXPECT_EQ(long_one.bits(), given);
  EXPECT_TRUE(long_one.factor({}, 40));
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver::kernels
