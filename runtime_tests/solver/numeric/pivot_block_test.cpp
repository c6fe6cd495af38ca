#include "solver/kernels/pivot_block.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "pivot_instances.h"

namespace espalier::solver::kernels {
namespace {

template <class T>
class PivotBlocks : public testing::Test {
 protected:
  std::int32_t draw(std::int32_t first, std::int32_t last) {
    return std::uniform_int_distribution<std::int32_t>(first, last)(random);
  }
  T value() { return std::uniform_real_distribution<T>(-1, 1)(random); }
  std::int32_t size() { return draw(0, 3) == 0 ? draw(0, 140) : draw(0, 40); }
  std::int32_t rows() { return draw(0, 29) == 0 ? draw(500, 1400) : draw(0, 60); }

  // Entries drawn with probability `density`, columns scaled by powers of 10 down to
  // 10^-grades, rows below scaled by `weight`.
  DenseBlock<T> draw_block(FactorKind kind, std::int32_t w, std::int32_t m,
                           double density = 1, int grades = 0, T weight = 1) {
    DenseBlock<T> a(kind, w, m);
    std::vector<T> scale(w);
    for (T& s : scale) s = T(std::pow(10, -draw(0, grades)));
    const auto entry = [&] { return draw(0, 999) < 1000 * density ? value() : T(0); };
    const bool lu = kind == FactorKind::kLu;
    for (std::int32_t j = 0; j < w; ++j) {
      for (std::int32_t i = lu ? 0 : j; i < w + m; ++i)
        a.set(i, j, entry() * scale[j] * (i < w ? (lu ? 1 : scale[i]) : weight));
      if (kind == FactorKind::kCholesky) a.set(j, j, T(w + m + 1));
    }
    for (T& x : a.right) x = entry();
    return a;
  }

  // Factors and checks all that holds for every block. @return the counts
  PivotCounts check(const DenseBlock<T>& a, const PivotRule& rule) {
    SplitBlock<T> f(a, random);
    const PivotCounts counts = f.factor(rule);
    const std::int32_t w = a.width, e = counts.eliminated;
    const double u = rule.threshold, epsilon = std::numeric_limits<T>::epsilon();
    EXPECT_TRUE(f.canaries_live());
    EXPECT_TRUE(0 <= e && e <= w) << e;
    if (a.kind != FactorKind::kCholesky) {
      expect_permutation(f.row_order());
      expect_permutation(f.column_order());
    }
    const auto r = residual(a, f, e);
    if (counts.perturbed == 0) {
      EXPECT_LE(r.largest, 4 * (w + 1) * epsilon * r.size);
    }
    if (a.kind != FactorKind::kCholesky && !rule.take_all) {
      EXPECT_LE(r.largest_l, (1 + 8 * epsilon) / std::min(u, 1.0));
    }
    if (rule.take_all) {
      EXPECT_EQ(e, w);
    } else {
      EXPECT_EQ(counts.perturbed, 0);
    }
    if (a.kind == FactorKind::kLdlt) check_d(f, counts);
    if (this->HasFailure())
      ADD_FAILURE() << "kind " << int(a.kind) << ", w " << w << ", rows " << a.rows
                    << ", u " << u << ", tiny " << rule.tiny << ", e " << e
                    << ", residual " << double(r.largest) << " of " << double(r.size);
    return counts;
  }

  static void expect_permutation(std::vector<std::int32_t> order) {
    std::sort(order.begin(), order.end());
    for (std::int32_t k = 0; k < std::int32_t(order.size()); ++k) EXPECT_EQ(order[k], k);
  }

  // D as the counts say, zero after the eliminated columns; L has ones, and zeros in D's
  // pairs.
  static void check_d(const SplitBlock<T>& f, const PivotCounts& counts) {
    std::int32_t negative = 0, pairs = 0;
    const auto w = std::int32_t(f.row_order().size());
    for (std::int32_t k = 0; k < w; ++k) {
      if (k >= counts.eliminated) {
        EXPECT_EQ(f.d(2 * k), 0);
        EXPECT_EQ(f.d(2 * k + 1), 0);
        continue;
      }
      EXPECT_EQ(f.diagonal(k, k), 1);
      const long double a = f.d(2 * k), b = f.d(2 * k + 1);
      if (b == 0) {
        EXPECT_NE(a, 0);
        negative += a < 0;
        continue;
      }
      ++pairs, ++k;
      ASSERT_LT(k, counts.eliminated);
      EXPECT_EQ(f.diagonal(k, k - 1), 0);
      EXPECT_EQ(f.d(2 * k + 1), 0);
      const long double c = f.d(2 * k);
      negative += a * c - b * b < 0 ? 1 : a + c < 0 ? 2 : 0;
    }
    EXPECT_EQ(counts.negative, negative);
    EXPECT_EQ(counts.two_by_two, pairs);
  }

  std::mt19937 random{3};
};

using Precisions = testing::Types<double, float>;
TYPED_TEST_SUITE(PivotBlocks, Precisions);

constexpr FactorKind kKinds[] = {FactorKind::kCholesky, FactorKind::kLdlt,
                                 FactorKind::kLu};
constexpr FactorKind kPivoted[] = {FactorKind::kLdlt, FactorKind::kLu};
constexpr double kThresholds[] = {1e-8, 0.01, 0.1, 0.5, 1};

TYPED_TEST(PivotBlocks, PairOfTheTwoByTwoExchange) {
  // [0 2; 2 0] has no 1 x 1 pivot; the row (4, 6) below is (3, 2) times it.
  DenseBlock<TypeParam> a(FactorKind::kLdlt, 2, 1);
  a.set(1, 0, 2);
  a.set(2, 0, 4);
  a.set(2, 1, 6);
  SplitBlock<TypeParam> f(a, this->random);
  const PivotCounts counts = f.factor({});
  EXPECT_EQ(counts.eliminated, 2);
  EXPECT_EQ(counts.negative, 1);
  EXPECT_EQ(counts.two_by_two, 1);
  EXPECT_EQ(f.d(1), 2);
  EXPECT_EQ(f.below(0, f.row_order()[0]), 3);
  EXPECT_EQ(f.below(0, f.row_order()[1]), 2);
}

TYPED_TEST(PivotBlocks, LuOfATwoByTwoBlockByHand) {
  // Rows (1, 2), (4, 4): 4 is the pivot, l = 1/4, u = (4, 4; 1). Below (8, 12): l = (2,
  // 4). Right, the column (1, 8): u = (8, -1).
  DenseBlock<TypeParam> a(FactorKind::kLu, 2, 1);
  a.left = {1, 4, 8, 2, 4, 12};
  a.right = {1, 8};
  SplitBlock<TypeParam> f(a, this->random);
  EXPECT_EQ(f.factor({}).eliminated, 2);
  EXPECT_EQ(f.row_order(), (std::vector<std::int32_t>{1, 0}));
  EXPECT_EQ(f.column_order(), (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(f.diagonal(0, 0), 4);
  EXPECT_EQ(f.diagonal(1, 0), 0.25);
  EXPECT_EQ(f.diagonal(0, 1), 4);
  EXPECT_EQ(f.diagonal(1, 1), 1);
  EXPECT_EQ(f.below(0, 0), 2);
  EXPECT_EQ(f.below(0, 1), 4);
  EXPECT_EQ(f.right(0, 0), 8);
  EXPECT_EQ(f.right(0, 1), -1);
}

TYPED_TEST(PivotBlocks, RandomBlocksMultiplyOut) {
  for (const FactorKind kind : kKinds) {
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

TYPED_TEST(PivotBlocks, BlocksOnWhichColumnsFailMultiplyOut) {
  std::int32_t failed = 0, taken = 0;
  for (const FactorKind kind : kPivoted) {
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

TYPED_TEST(PivotBlocks, ColumnsThatFailAlthoughManyRowsPassedArePutBack) {
  // One heavy row in the last of several chunks undoes what earlier chunks had passed.
  for (const FactorKind kind : kPivoted) {
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

TYPED_TEST(PivotBlocks, DefiniteBlocksTakeNoPairsAndNoNegativePivots) {
  for (const std::int32_t w : {1, 31, 32, 33, 100}) {
    auto a = this->draw_block(FactorKind::kCholesky, w, 20);
    a.kind = FactorKind::kLdlt;
    const PivotCounts counts = this->check(a, {});
    EXPECT_EQ(counts.eliminated, w);
    EXPECT_EQ(counts.negative, 0);
    EXPECT_EQ(counts.two_by_two, 0);
  }
}

TYPED_TEST(PivotBlocks, SaddlePointsAreEliminatedInPairs) {
  for (const std::int32_t half : {1, 2, 15, 16, 17, 40, 128}) {
    DenseBlock<TypeParam> a(FactorKind::kLdlt, 2 * half, 30);
    for (std::int32_t j = 0; j < 2 * half; ++j) {
      for (std::int32_t i = half; i < 2 * half && j < half; ++i)
        a.set(i, j, this->value());
      for (std::int32_t i = 2 * half; i < 2 * half + 30; ++i) a.set(i, j, this->value());
    }
    const PivotCounts counts = this->check(a, {.threshold = 1e-3});
    EXPECT_EQ(counts.eliminated, 2 * half);
    EXPECT_EQ(counts.negative, half);
    if (this->HasFailure()) FAIL() << "half " << half;
  }
}

// Eigenvalues by Jacobi's rotations.
std::vector<long double> eigenvalues(std::vector<std::vector<long double>> a) {
  const std::size_t n = a.size();
  for (int sweep = 0; sweep < 30; ++sweep) {
    for (std::size_t p = 0; p < n; ++p) {
      for (std::size_t q = p + 1; q < n; ++q) {
        if (a[p][q] == 0) continue;
        const long double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
        const long double t =
            (theta < 0 ? -1 : 1) / (std::abs(theta) + std::hypot(theta, 1.0L));
        const long double c = 1 / std::hypot(t, 1.0L), s = t * c;
        for (std::size_t k = 0; k < n; ++k) {
          const long double x = a[k][p], y = a[k][q];
          a[k][p] = c * x - s * y, a[k][q] = s * x + c * y;
        }
        for (std::size_t k = 0; k < n; ++k) {
          const long double x = a[p][k], y = a[q][k];
          a[p][k] = c * x - s * y, a[q][k] = s * x + c * y;
        }
      }
    }
  }
  std::vector<long double> values(n);
  for (std::size_t k = 0; k < n; ++k) values[k] = a[k][k];
  return values;
}

TYPED_TEST(PivotBlocks, NegativePivotsAreTheNegativeEigenvalues) {
  for (int instance = 0; instance < 40; ++instance) {
    const std::int32_t w = this->draw(1, 40);
    const auto a =
        this->draw_block(FactorKind::kLdlt, w, 0, instance % 2 == 0 ? 1 : 0.2, 0);
    std::vector<std::vector<long double>> full(w, std::vector<long double>(w));
    for (std::int32_t i = 0; i < w; ++i)
      for (std::int32_t j = 0; j < w; ++j) full[i][j] = a(i, j);
    const auto values = eigenvalues(full);
    const double near = 100.0 * w * std::numeric_limits<TypeParam>::epsilon();
    if (std::any_of(values.begin(), values.end(),
                    [&](long double x) { return std::abs(x) < near; }))
      continue;  // the sign is lost in rounding errors
    const PivotCounts counts = this->check(a, {.threshold = 1e-3});
    if (counts.eliminated < w) continue;
    EXPECT_EQ(counts.negative, std::count_if(values.begin(), values.end(),
                                             [](long double x) { return x < 0; }))
        << "instance " << instance << ", w " << w;
  }
}

TYPED_TEST(PivotBlocks, SingularBlocksStopAtTheirRank) {
  const double tiny = 1000 * std::numeric_limits<TypeParam>::epsilon();
  for (const FactorKind kind : kPivoted) {
    for (int instance = 0; instance < 60; ++instance) {
      const std::int32_t w = this->draw(1, 80), rank = this->draw(0, w / 2);
      DenseBlock<TypeParam> a(kind, w, 0);
      std::vector<TypeParam> x(w), y(w);
      for (std::int32_t r = 0; r < rank; ++r) {
        for (std::int32_t i = 0; i < w; ++i) x[i] = this->value(), y[i] = this->value();
        for (std::int32_t j = 0; j < w; ++j)
          for (std::int32_t i = 0; i < w; ++i)
            a(i, j) += kind == FactorKind::kLu
                           ? x[i] * y[j]
                           : (r % 2 == 0 ? x[i] * x[j] : -x[i] * x[j]);
      }
      const PivotCounts counts = this->check(a, {.threshold = 1e-3, .tiny = tiny * w});
      EXPECT_EQ(counts.eliminated, rank) << "instance " << instance << ", w " << w;
    }
  }
}

TYPED_TEST(PivotBlocks, ZeroBlocksAreLeftOrPerturbed) {
  for (const FactorKind kind : kPivoted) {
    for (const std::int32_t w : {0, 1, 31, 32, 33, 100}) {
      const DenseBlock<TypeParam> zero(kind, w, 7);
      EXPECT_EQ(this->check(zero, {}).eliminated, 0);
      for (const double tiny : {0.0, 0.125}) {
        SplitBlock<TypeParam> forced(zero, this->random);
        const PivotCounts counts = forced.factor({.tiny = tiny, .take_all = true});
        EXPECT_EQ(counts.eliminated, w);
        EXPECT_EQ(counts.perturbed, w);
        for (std::int32_t k = 0; k < w; ++k)
          EXPECT_EQ(kind == FactorKind::kLu ? forced.diagonal(k, k) : forced.d(2 * k),
                    TypeParam(tiny > 0 ? tiny : 1));
      }
    }
  }
}

TYPED_TEST(PivotBlocks, ColumnsThatAllFailComeBackUneliminated) {
  for (const FactorKind kind : kPivoted) {
    for (const std::int32_t w : {1, 20, 64, 150}) {
      auto a = this->draw_block(kind, w, 900);
      for (std::int32_t j = 0; j < w; ++j)
        for (std::int32_t i = 0; i < w; ++i) a(i, j) *= TypeParam(1e-5);
      EXPECT_EQ(this->check(a, {}).eliminated, 0) << "kind " << int(kind) << ", w " << w;
    }
  }
}

TYPED_TEST(PivotBlocks, ColumnsThatFailAreTriedAgainOnceOthersAreEliminated) {
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

TYPED_TEST(PivotBlocks, StaticPivotingPerturbsDiagonalEntriesAlone) {
  const double epsilon = std::numeric_limits<TypeParam>::epsilon();
  std::int32_t perturbed = 0;
  for (const FactorKind kind : kPivoted) {
    for (int instance = 0; instance < 150; ++instance) {
      auto a = this->draw_block(kind, this->draw(1, 80), this->draw(0, 20), 0.05);
      for (TypeParam& x : a.left) x = std::round(2 * x);  // singular for good
      for (std::int32_t j = 0; j < a.width; ++j)
        for (std::int32_t i = 0; i < j && kind == FactorKind::kLdlt; ++i)
          a(i, j) = a(j, i);
      const PivotRule rule{.threshold = 0.01, .tiny = 0.01, .take_all = true};
      SplitBlock<TypeParam> f(a, this->random);
      const PivotCounts counts = f.factor(rule);
      EXPECT_EQ(counts.eliminated, a.width);
      const auto r = residual(a, f, a.width);
      const long double tolerance = 4 * (a.width + 1) * epsilon * r.size;
      const auto apart = residual(a, f, a.width, tolerance);
      EXPECT_LE(apart.largest, tolerance);
      EXPECT_LE(std::ssize(apart.off), counts.perturbed);
      EXPECT_LE(r.largest, std::max<long double>(0.02, tolerance));
      perturbed += counts.perturbed;
      if (this->HasFailure()) FAIL() << "kind " << int(kind) << ", instance " << instance;
    }
  }
  EXPECT_GT(perturbed, 100);
}

TYPED_TEST(PivotBlocks, StaticPivotingChangesNothingWherePivotsAreGood) {
  for (const FactorKind kind : kPivoted) {
    for (int instance = 0; instance < 50; ++instance) {
      const auto a = this->draw_block(kind, this->draw(1, 80), this->rows());
      const PivotCounts counts = this->check(a, {.threshold = 1e-3, .take_all = true});
      EXPECT_EQ(counts.perturbed, 0);
      if (this->HasFailure()) FAIL() << "instance " << instance;
    }
  }
}

TYPED_TEST(PivotBlocks, EntriesThatAreNotFiniteEndTheFactorisation) {
  using Limits = std::numeric_limits<TypeParam>;
  for (const FactorKind kind : kKinds) {
    for (int instance = 0; instance < 60; ++instance) {
      auto a = this->draw_block(kind, this->draw(1, 80), this->rows());
      const std::int32_t row = this->draw(0, a.width + a.rows - 1);
      const std::int32_t column = this->draw(0, std::min(row, a.width - 1));
      const TypeParam bad[] = {Limits::quiet_NaN(), Limits::infinity(),
                               -Limits::infinity()};
      a.set(row, column, bad[instance % 3]);
      SplitBlock<TypeParam> f(a, this->random);
      const PivotCounts counts =
          f.factor({.take_all = kind != FactorKind::kCholesky && instance % 2 == 0});
      if (row < a.width || kind != FactorKind::kCholesky) {
        EXPECT_LT(counts.eliminated, a.width);
      }
      if (kind == FactorKind::kCholesky) continue;
      for (std::int32_t j = 0; j < counts.eliminated; ++j)
        for (std::int32_t i = j; i < a.width + a.rows; ++i)
          ASSERT_TRUE(
              std::isfinite(i < a.width ? f.diagonal(i, j) : f.below(i - a.width, j)))
              << "kind " << int(kind) << ", instance " << instance;
    }
  }
}

TYPED_TEST(PivotBlocks, CholeskyNamesTheColumnThatIsNotPositive) {
  for (const std::int32_t w : {1, 20, 33, 100}) {
    for (std::int32_t column = 0; column < w; column += 7) {
      auto a = this->draw_block(FactorKind::kCholesky, w, 5);
      a.set(column, column, -1);
      SplitBlock<TypeParam> f(a, this->random);
      EXPECT_EQ(f.factor({}).eliminated, column);
    }
  }
}

}  // namespace
}  // namespace espalier::solver::kernels
