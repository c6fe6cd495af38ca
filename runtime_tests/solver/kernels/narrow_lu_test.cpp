// L U of narrow blocks without exchanges: by hand, multiplied out, and left alone where a
// pivot is not good enough.

#include "solver/kernels/narrow_lu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "random_entries.h"

namespace espalier::solver::kernels {
namespace TEST_SOURCE {

constexpr std::int32_t kWidest = 16;

/// A block, rows below it in two segments and rows right of it in one.
template <class T>
struct Block {
  std::int32_t width, below, right;
  std::vector<T> diagonal, rows, columns;
  std::vector<std::int32_t> row_order, column_order;

  Block(std::int32_t w, std::int32_t m, std::int32_t n)
      : width(w),
        below(m),
        right(n),
        diagonal(std::size_t(w) * (w + 1)),
        rows(std::size_t(w) * m),
        columns(std::size_t(w) * n),
        row_order(w, -1),
        column_order(w, -1) {}
  friend bool operator==(const Block&, const Block&) = default;

  [[nodiscard]] T& at(std::int32_t i, std::int32_t j) {
    return i < width ? diagonal[i + std::size_t(j) * (width + 1)]
                     : rows[i - width + std::size_t(j) * below];
  }
  [[nodiscard]] T& beside(std::int32_t i, std::int32_t j) {
    return columns[i + std::size_t(j) * right];
  }

  std::optional<PivotCounts> factor(const PivotRule& rule, std::int64_t least = 0) {
    const std::int32_t first = below / 3;
    const std::vector<RowSegment<T>> segments = {
        {rows.data(), below, first}, {rows.data() + first, below, below - first}};
    const std::vector<RowSegment<T>> others = {{columns.data(), right, right}};
    const PivotBlock<T> block{width,  diagonal.data(),  width + 1,           segments,
                              others, row_order.data(), column_order.data(), nullptr};
    const std::int64_t room = least > 0 ? least : pivot_scratch(FactorKind::kLu, width);
    std::vector<T> scratch(static_cast<std::size_t>(room));
    return factor_narrow_lu(block, rule, std::span(scratch));
  }
};

template <class T>
class NarrowLu : public RandomEntries<T> {
 protected:
  NarrowLu() : RandomEntries<T>(11) {}

  // Each pivot is the largest of its column, by far.
  Block<T> dominant(std::int32_t w, std::int32_t m, std::int32_t n) {
    Block<T> block(w, m, n);
    for (std::int32_t j = 0; j < w; ++j)
      for (std::int32_t i = 0; i < w + m; ++i)
        block.at(i, j) = this->value() + T(i == j ? 3 * w : 0);
    for (T& x : block.columns) x = this->value();
    return block;
  }
};
using Entries = testing::Types<double, float, std::complex<double>>;
TYPED_TEST_SUITE(NarrowLu, Entries);

// [4 2; 1 3] = [1; 1/4 1] [4 2; 5/2], below (8, 9) = (2, 2) U, right (4, 3) = L (4, 2).
TYPED_TEST(NarrowLu, OfATwoByTwoBlockByHand) {
  Block<TypeParam> block(2, 1, 1);
  block.at(0, 0) = 4, block.at(0, 1) = 2, block.at(1, 0) = 1, block.at(1, 1) = 3;
  block.at(2, 0) = 8, block.at(2, 1) = 9;
  block.beside(0, 0) = 4, block.beside(0, 1) = 3;
  const auto counts = block.factor({});
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->eliminated, 2);
  EXPECT_EQ(counts->perturbed, 0);
  EXPECT_EQ(counts->smallest, 2.5);
  EXPECT_EQ(block.at(1, 0), TypeParam(0.25));
  EXPECT_EQ(block.at(0, 1), TypeParam(2));
  EXPECT_EQ(block.at(1, 1), TypeParam(2.5));
  EXPECT_EQ(block.at(2, 0), TypeParam(2));
  EXPECT_EQ(block.at(2, 1), TypeParam(2));
  EXPECT_EQ(block.beside(0, 0), TypeParam(4));
  EXPECT_EQ(block.beside(0, 1), TypeParam(2));
  EXPECT_EQ(block.row_order, (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(block.column_order, (std::vector<std::int32_t>{0, 1}));
}

// L U = A, of the block and the rows below, and L y = b of each column beside it.
TYPED_TEST(NarrowLu, MultipliesOut) {
  using T = TypeParam;
  const double tolerance = 200 * std::numeric_limits<RealOf<T>>::epsilon();
  for (int instance = 0; instance < 600; ++instance) {
    const std::int32_t w = this->draw(0, kWidest), m = this->draw(0, 40),
                       n = this->draw(0, 40);
    Block<T> block = this->dominant(w, m, n), given = block;
    const auto counts = block.factor({});
    ASSERT_TRUE(counts);
    ASSERT_EQ(counts->eliminated, w);
    double smallest = std::numeric_limits<double>::infinity();
    for (std::int32_t j = 0; j < w; ++j) {
      smallest = std::min(smallest, double(size_of(block.at(j, j))));
      for (std::int32_t i = 0; i < w + m; ++i) {
        T sum(i <= j ? block.at(i, j) : T(0));
        for (std::int32_t k = 0; k < std::min(i, j + 1); ++k)
          sum += block.at(i, k) * block.at(k, j);
        ASSERT_LE(size_of(T(sum - given.at(i, j))), tolerance * 3 * w)
            << "w " << w << ", entry " << i << " " << j;
      }
      for (std::int32_t i = 0; i < n; ++i) {
        T sum = block.beside(i, j);
        for (std::int32_t k = 0; k < j; ++k) sum += block.at(j, k) * block.beside(i, k);
        ASSERT_LE(size_of(T(sum - given.beside(i, j))), tolerance * w);
      }
    }
    EXPECT_EQ(counts->smallest, smallest);
  }
}

TYPED_TEST(NarrowLu, LeavesBlocksWithABadPivotAsTheyWere) {
  using T = TypeParam;
  const auto nan = T(std::numeric_limits<RealOf<T>>::quiet_NaN());
  for (int instance = 0; instance < 600; ++instance) {
    const std::int32_t w = this->draw(1, kWidest), m = this->draw(1, 30);
    const std::int32_t bad = this->draw(0, w - 1);
    const std::int32_t below = w + this->draw(0, m - 1);
    PivotRule rule;
    Block<T> block = this->dominant(w, m, 2);
    switch (instance % 5) {
      case 0:  // no pivot
        for (std::int32_t k = 0; k < w; ++k) block.at(bad, k) = block.at(k, bad) = 0;
        break;
      case 1:  // not over `tiny`
        rule.tiny = 5 * w;
        break;
      case 2:  // L over the bound
        block.at(below, bad) = RealOf<T>(1000 * w);
        break;
      case 3:
        block.at(this->draw(0, w + m - 1), bad) = nan;
        break;
      case 4:  // another of its column is preferred
        if (bad + 1 == w) continue;
        block.at(this->draw(bad + 1, w - 1), bad) = RealOf<T>(w * w * 10);
        break;
    }
    const Block<T> given = block;
    ASSERT_FALSE(block.factor(rule)) << "case " << instance % 5 << ", w " << w;
    const auto bits = [](const std::vector<T>& x) {
      const auto* first = reinterpret_cast<const std::byte*>(x.data());
      return std::vector<std::byte>(first, first + x.size() * sizeof(T));
    };
    ASSERT_EQ(bits(block.diagonal), bits(given.diagonal));
    ASSERT_EQ(bits(block.rows), bits(given.rows));
    ASSERT_EQ(bits(block.columns), bits(given.columns));
  }
}

TYPED_TEST(NarrowLu, IsNotForWideBlocksNorForMoreRowsThanFit) {
  Block<TypeParam> wide = this->dominant(kWidest + 1, 3, 3), given = wide;
  EXPECT_FALSE(wide.factor({}));
  EXPECT_EQ(wide, given);
  Block<TypeParam> long_one = this->dominant(4, 10, 3);
  given = long_one;
  EXPECT_FALSE(long_one.factor({}, 39));
  EXPECT_EQ(long_one, given);
  EXPECT_TRUE(long_one.factor({}, 40));
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver::kernels
