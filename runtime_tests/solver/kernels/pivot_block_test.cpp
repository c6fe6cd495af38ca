#include <gtest/gtest.h>

#include "pivot_fixture.h"

namespace espalier::solver::kernels {
namespace TEST_SOURCE {

template <class T>
class PivotBlock : public PivotBlocks<T> {};
TYPED_TEST_SUITE(PivotBlock, AllEntries);

TYPED_TEST(PivotBlock, PairOfTheTwoByTwoExchange) {
  // [0 2; 2 0] has no 1 x 1 pivot; the row (4, 6) below is (3, 2) times it.
  DenseBlock<TypeParam> a(FactorKind::kLdlt, 2, 1);
  a.set(1, 0, 2);
  a.set(2, 0, 4);
  a.set(2, 1, 6);
  SplitBlock<TypeParam> f(a, this->random);
  const PivotCounts counts = f.factor({});
  EXPECT_EQ(counts.eliminated, 2);
  EXPECT_EQ(counts.negative, kHasInertia<TypeParam> ? 1 : 0);
  EXPECT_EQ(counts.two_by_two, 1);
  EXPECT_EQ(f.d(1), TypeParam(2));
  EXPECT_EQ(f.below(0, f.row_order()[0]), TypeParam(3));
  EXPECT_EQ(f.below(0, f.row_order()[1]), TypeParam(2));
}

TYPED_TEST(PivotBlock, LuOfATwoByTwoBlockByHand) {
  // Rows (1, 2), (4, 4): 4 is the pivot, l = 1/4, u = (4, 4; 1). Below (8, 12): l = (2,
  // 4). Right, the column (1, 8): u = (8, -1).
  DenseBlock<TypeParam> a(FactorKind::kLu, 2, 1);
  a.left = {1, 4, 8, 2, 4, 12};
  a.right = {1, 8};
  SplitBlock<TypeParam> f(a, this->random);
  EXPECT_EQ(f.factor({}).eliminated, 2);
  EXPECT_EQ(f.row_order(), (std::vector<std::int32_t>{1, 0}));
  EXPECT_EQ(f.column_order(), (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(f.diagonal(0, 0), TypeParam(4));
  EXPECT_EQ(f.diagonal(1, 0), TypeParam(0.25));
  EXPECT_EQ(f.diagonal(0, 1), TypeParam(4));
  EXPECT_EQ(f.diagonal(1, 1), TypeParam(1));
  EXPECT_EQ(f.below(0, 0), TypeParam(2));
  EXPECT_EQ(f.below(0, 1), TypeParam(4));
  EXPECT_EQ(f.right(0, 0), TypeParam(8));
  EXPECT_EQ(f.right(0, 1), TypeParam(-1));
}

TYPED_TEST(PivotBlock, ColumnsAloneMultiplyOutOrAreLeftAsTheyWere) {
  std::int32_t failed = 0, taken = 0;
  for (const FactorKind kind : this->pivoted())
    for (int instance = 0; instance < 200; ++instance) {
      const TypeParam weight[] = {1, 10, 1000};
      const auto a = this->draw_block(kind, 1, this->draw(0, 5), 1, this->draw(0, 1),
                                      weight[this->draw(0, 2)]);
      const PivotCounts counts =
          this->check(a, {.threshold = kThresholds[this->draw(0, 4)]});
      (counts.eliminated == 1 ? taken : failed) += 1;
      if (this->HasFailure()) FAIL() << "instance " << instance;
    }
  const auto kinds = std::ssize(this->pivoted());
  EXPECT_GT(failed, 10 * kinds);  // both happen
  EXPECT_GT(taken, 50 * kinds);
}

TYPED_TEST(PivotBlock, RandomBlocksMultiplyOut) {
  for (const FactorKind kind : this->kinds()) {
    for (int instance = 0; instance < 60; ++instance) {
      const auto a = this->draw_block(kind, this->size(), this->rows());
      const PivotCounts counts = this->check(a, {});
      if (kind == FactorKind::kCholesky) {
        EXPECT_EQ(counts.eliminated, a.width);
      }
      if (this->HasFailure()) FAIL() << "instance " << instance;
    }
  }
}

TYPED_TEST(PivotBlock, BlocksOnWhichColumnsFailMultiplyOut) {
  std::int32_t failed = 0, taken = 0;
  for (const FactorKind kind : this->pivoted()) {
    for (int instance = 0; instance < 200; ++instance) {
      const double density[] = {1, 0.3, 0.05};
      const TypeParam weight[] = {1, 10, 1000};
      const auto a =
          this->draw_block(kind, this->size(), this->rows(), density[this->draw(0, 2)],
                           this->draw(0, 4), weight[this->draw(0, 2)]);
      const double u = kThresholds[this->draw(0, 4)];
      const PivotCounts counts = this->check(a, {.threshold = u});
      failed += a.width - counts.eliminated;
      taken += counts.eliminated;
      if (this->HasFailure()) FAIL() << "instance " << instance;
    }
  }
  EXPECT_GT(failed, 500);  // the instances are what they are meant to be
  EXPECT_GT(taken, 1000);
}

TYPED_TEST(PivotBlock, ColumnsThatFailAlthoughManyRowsPassedArePutBack) {
  // One heavy row in the last of several chunks undoes what earlier chunks had passed.
  for (const FactorKind kind : this->pivoted()) {
    for (int instance = 0; instance < 8; ++instance) {
      auto a = this->draw_block(kind, this->draw(1, 70), 1300);
      std::int32_t heavy = 0;
      for (std::int32_t j = 0; j < a.width; ++j)
        if (this->draw(0, 5) == 0) a.set(a.width + 1299, j, TypeParam(1e5)), ++heavy;
      const PivotCounts counts = this->check(a, {.threshold = 0.1});
      if (heavy > 0) {
        EXPECT_LT(counts.eliminated, a.width);
      }
      if (this->HasFailure()) FAIL() << "instance " << instance;
    }
  }
}

TYPED_TEST(PivotBlock, BlocksWiderThanAChunkMultiplyOut) {
  for (const FactorKind kind : this->pivoted()) {
    const auto a = this->draw_block(kind, 530, 3, 0.02, 3, 100);
    const PivotCounts counts = this->check(a, {.threshold = 0.1});
    EXPECT_GT(counts.eliminated, 100);
    EXPECT_LT(counts.eliminated, 530);
  }
}

TYPED_TEST(PivotBlock, DefiniteBlocksTakeNoPairsAndNoNegativePivots) {
  for (const std::int32_t w : {1, 31, 32, 33, 100}) {
    auto a = this->draw_block(FactorKind::kCholesky, w, 20);
    a.kind = FactorKind::kLdlt;
    const PivotCounts counts = this->check(a, {});
    EXPECT_EQ(counts.eliminated, w);
    EXPECT_EQ(counts.negative, 0);
    EXPECT_EQ(counts.two_by_two, 0);
  }
}

TYPED_TEST(PivotBlock, SaddlePointsAreEliminatedInPairs) {
  for (const std::int32_t half : {1, 2, 15, 16, 17, 40, 128}) {
    DenseBlock<TypeParam> a(FactorKind::kLdlt, 2 * half, 30);
    for (std::int32_t j = 0; j < 2 * half; ++j) {
      for (std::int32_t i = half; i < 2 * half && j < half; ++i)
        a.set(i, j, this->value());
      for (std::int32_t i = 2 * half; i < 2 * half + 30; ++i) a.set(i, j, this->value());
    }
    const PivotCounts counts = this->check(a, {.threshold = 1e-3});
    EXPECT_EQ(counts.eliminated, 2 * half);
    EXPECT_EQ(counts.negative, kHasInertia<TypeParam> ? half : 0);
    if (this->HasFailure()) FAIL() << "half " << half;
  }
}

TYPED_TEST(PivotBlock, ColumnsThatAllFailComeBackUneliminated) {
  for (const FactorKind kind : this->pivoted()) {
    for (const std::int32_t w : {1, 20, 64, 150}) {
      auto a = this->draw_block(kind, w, 900);
      for (std::int32_t j = 0; j < w; ++j)
        for (std::int32_t i = 0; i < w; ++i) a(i, j) *= RealOf<TypeParam>(1e-5);
      EXPECT_EQ(this->check(a, {}).eliminated, 0) << "kind " << int(kind) << ", w " << w;
    }
  }
}

TYPED_TEST(PivotBlock, ColumnsThatFailAreTriedAgainOnceOthersAreEliminated) {
  // LU: 1001 over the pivot 1 fails at u = 1/1000; column 1 has 1000 times 4 and takes
  // its part along: what is left of column 0 is (-1/4; 1).
  DenseBlock<TypeParam> a(FactorKind::kLu, 2, 1);
  a.left = {1, 0, 1001, 4, 1, 4000};
  SplitBlock<TypeParam> f(a, this->random);
  EXPECT_EQ(f.factor({.threshold = 0.001}).eliminated, 2);
  EXPECT_EQ(f.column_order(), (std::vector<std::int32_t>{1, 0}));
  // LDL^T: 101 fails at u = 1/100; after column 1, 51 over 3/4 does not.
  DenseBlock<TypeParam> b(FactorKind::kLdlt, 2, 1);
  b.left = {1, 0.5, 101, 0.5, 1, 100};
  SplitBlock<TypeParam> g(b, this->random);
  EXPECT_EQ(g.factor({}).eliminated, 2);
  EXPECT_EQ(g.row_order(), (std::vector<std::int32_t>{1, 0}));
  EXPECT_EQ(g.d(2), TypeParam(0.75));
}

TYPED_TEST(PivotBlock, CholeskyNamesTheColumnThatIsNotPositive) {
  for (const std::int32_t w : {1, 20, 33, 100}) {
    for (std::int32_t column = 0; column < w; column += 7) {
      auto a = this->draw_block(FactorKind::kCholesky, w, 5);
      a.set(column, column, TypeParam(-1));
      SplitBlock<TypeParam> f(a, this->random);
      EXPECT_EQ(f.factor({}).eliminated, column);
    }
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver::kernels
