#include "solver/kernels/row_tiles.h"

#include <gtest/gtest.h>

#include "pivot_fixture.h"

namespace espalier::solver::kernels {
namespace TEST_SOURCE {

template <class T>
class RowTiles : public PivotBlocks<T> {};
TYPED_TEST_SUITE(RowTiles, AllEntries);

TYPED_TEST(RowTiles, OfATwoByTwoPivotByHand) {
  // [0 2; 2 0] inverted is [0 1/2; 1/2 0]: the row (4, 6) becomes (3, 2).
  TypeParam diagonal[] = {1, 0, 0, 1}, d[] = {0, 2, 0, 0}, row[] = {4, 6};
  std::int32_t order[] = {0, 1};
  const PivotBlock<TypeParam> block{2, diagonal, 2, {}, {}, order, nullptr, d};
  std::vector<TypeParam> scratch(pivot_scratch(FactorKind::kLdlt, 2));
  const RowSegment<TypeParam> rows{row, 1, 1};
  EXPECT_EQ(solve_rows(FactorKind::kLdlt, block, 2, 0.25, rows, scratch), 2);
  EXPECT_EQ(row[0], TypeParam(3));
  EXPECT_EQ(row[1], TypeParam(2));
  // 3 is over 1 / 0.5: neither column of the pair is kept, and the row is as it was.
  row[0] = 4, row[1] = 6;
  EXPECT_EQ(solve_rows(FactorKind::kLdlt, block, 2, 0.5, rows, scratch), 0);
  EXPECT_EQ(row[0], TypeParam(4));
  EXPECT_EQ(row[1], TypeParam(6));
}

TYPED_TEST(RowTiles, LuByHand) {
  // U = [4 4; 0 1]: (8, 12) U^-1 = (2, 4); the second column is over 1 / 0.4.
  TypeParam diagonal[] = {4, 0.25, 4, 1}, row[] = {12, 8};
  std::int32_t rows_in_order[] = {1, 0}, columns[] = {1, 0};
  const PivotBlock<TypeParam> block{2,  diagonal,      2,       {},
                                    {}, rows_in_order, columns, nullptr};
  std::vector<TypeParam> scratch(pivot_scratch(FactorKind::kLu, 2));
  const RowSegment<TypeParam> rows{row, 1, 1};
  EXPECT_EQ(solve_rows(FactorKind::kLu, block, 2, 0.4, rows, scratch), 1);
  EXPECT_EQ(row[0], TypeParam(2));
  EXPECT_EQ(row[1], TypeParam(12 - 2 * 4));
  // The column (1, 8) right of the block, its rows exchanged: u = (8, 1 - 8 / 4).
  TypeParam right[] = {1, 8};
  solve_right_rows(block, 2, {right, 1, 1}, scratch);
  EXPECT_EQ(right[0], TypeParam(8));
  EXPECT_EQ(right[1], TypeParam(-1));
}

// L within the bound in all rows, products that are the block's, the rest its Schur
// complement, whatever was put back.
TYPED_TEST(RowTiles, RandomBlocksMultiplyOut) {
  int whole = 0, part = 0;
  for (const FactorKind kind : this->pivoted()) {
    for (const double u : kThresholds) {
      for (int instance = 0; instance < 12; ++instance) {
        const auto weight = RealOf<TypeParam>(std::pow(10, this->draw(-2, 1)));
        const auto a = this->draw_block(kind, this->size(), this->rows(), 1, 0, weight);
        const PivotCounts counts = this->check_by_tiles(a, {.threshold = u});
        ++(counts.eliminated == a.width ? whole : part);
        if (this->HasFailure()) FAIL() << "instance " << instance;
      }
    }
  }
  EXPECT_GT(whole, 15);
  EXPECT_GT(part, 15);
}

TYPED_TEST(RowTiles, RandomSparseBlocksMultiplyOut) {
  for (const FactorKind kind : this->pivoted()) {
    for (int instance = 0; instance < 30; ++instance) {
      const auto a = this->draw_block(kind, this->size(), this->rows(), 0.2, 3, 1);
      this->check_by_tiles(a, {.threshold = 0.1});
      if (this->HasFailure()) FAIL() << "instance " << instance;
    }
  }
}

// Rows that all bear the pivots are those that one call leaves, up to rounding.
TYPED_TEST(RowTiles, TakesWhatAllRowsTogetherTake) {
  for (const FactorKind kind : this->pivoted()) {
    for (int instance = 0; instance < 20; ++instance) {
      auto a = this->draw_block(kind, this->draw(1, 140), this->draw(1, 300));
      for (std::int32_t j = 0; j < a.width; ++j)
        a.set(j, j, RealOf<TypeParam>(a.width + 1));
      SplitBlock<TypeParam> one(a, this->random), tiles(a, this->random);
      const PivotCounts all = one.factor({}), counts = tiles.factor_by_tiles({}, 0);
      EXPECT_EQ(counts.eliminated, a.width);
      EXPECT_EQ(all.eliminated, a.width);
      EXPECT_EQ(counts.negative, all.negative);
      EXPECT_EQ(counts.smallest, all.smallest);
    }
  }
}

// How many rows are treated together is the kernel's matter: a worker's scratch may be
// larger for other reasons.
TYPED_TEST(RowTiles, MoreScratchLeavesTheSameBits) {
  using T = TypeParam;
  constexpr std::int32_t kWidth = 150, kRows = 1501;
  for (const FactorKind kind : this->pivoted()) {
    const auto size = std::size_t{kWidth} * kWidth;
    std::vector<T> diagonal(size), d(2 * kWidth), rows(std::size_t{kRows} * kWidth);
    for (T& x : diagonal) x = this->value();
    for (T& x : rows) x = this->value();
    for (std::size_t j = 0; j < size; j += kWidth + 1) diagonal[j] = RealOf<T>(kWidth);
    std::vector<std::int32_t> row_order(kWidth), column_order(kWidth);
    const PivotBlock<T> block{kWidth,           diagonal.data(),     kWidth,  {}, {},
                              row_order.data(), column_order.data(), d.data()};
    const std::int64_t least = pivot_scratch(kind, kWidth);
    std::vector<T> scratch(least);
    ASSERT_EQ(factor_pivot_block(kind, block, {}, scratch).eliminated, kWidth);
    const auto solve = [&](std::int64_t entries) {
      std::vector<T> result = rows;
      scratch.resize(entries);
      EXPECT_EQ(
          solve_rows(kind, block, kWidth, 1e-9, {result.data(), kRows, kRows}, scratch),
          kWidth);
      return result;
    };
    const std::vector<T> expected = solve(least);
    EXPECT_EQ(solve(3 * least), expected);
    EXPECT_EQ(solve(40 * least), expected);
  }
}

TYPED_TEST(RowTiles, RowsThatAreNotFiniteKeepNothing) {
  for (const FactorKind kind : this->pivoted()) {
    auto a = this->draw_block(kind, 70, 30);
    for (std::int32_t j = 0; j < a.width; ++j)
      a.set(j, j, RealOf<TypeParam>(a.width + 1));
    for (std::int32_t j = 0; j < a.width; ++j)
      a.set(a.width + 7, j, std::numeric_limits<RealOf<TypeParam>>::quiet_NaN());
    SplitBlock<TypeParam> f(a, this->random);
    EXPECT_EQ(f.factor_by_tiles({}, 0).eliminated, 0);
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver::kernels
