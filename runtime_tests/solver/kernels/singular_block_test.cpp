#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "pivot_fixture.h"

namespace espalier::solver::kernels {
namespace TEST_SOURCE {

template <class T>
class SingularBlock : public PivotBlocks<T> {};
TYPED_TEST_SUITE(SingularBlock, Precisions);

template <class T>
class SingularEntries : public PivotBlocks<T> {};
TYPED_TEST_SUITE(SingularEntries, AllEntries);

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

TYPED_TEST(SingularBlock, NegativePivotsAreTheNegativeEigenvalues) {
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

// Of a Hermitian block: every eigenvalue is one of [b -c; c b], twice.
TEST(HermitianBlock, NegativePivotsAreTheNegativeEigenvalues) {
  class Blocks : public PivotBlocks<HermitianEntry<double>> {
   public:
    using PivotBlocks::check, PivotBlocks::draw, PivotBlocks::draw_block;
    void TestBody() override {}
  } blocks;
  int negatives = 0;
  for (int instance = 0; instance < 40; ++instance) {
    const std::int32_t w = blocks.draw(1, 20);
    const auto a =
        blocks.draw_block(FactorKind::kLdlt, w, 0, instance % 2 == 0 ? 1 : 0.2, 0);
    std::vector<std::vector<long double>> full(2 * w, std::vector<long double>(2 * w));
    for (std::int32_t i = 0; i < w; ++i)
      for (std::int32_t j = 0; j < w; ++j) {
        full[2 * i][2 * j] = full[2 * i + 1][2 * j + 1] = a(i, j).real();
        full[2 * i + 1][2 * j] = a(i, j).imag();
        full[2 * i][2 * j + 1] = -a(i, j).imag();
      }
    const auto values = eigenvalues(full);
    if (std::ranges::any_of(values, [](long double x) { return std::abs(x) < 1e-12; }))
      continue;  // the sign is lost in rounding errors
    const PivotCounts counts = blocks.check(a, {.threshold = 1e-3});
    if (counts.eliminated < w) continue;
    EXPECT_EQ(2 * counts.negative,
              std::ranges::count_if(values, [](long double x) { return x < 0; }))
        << "instance " << instance << ", w " << w;
    negatives += counts.negative;
  }
  EXPECT_GT(negatives, 40);
}

TYPED_TEST(SingularEntries, BlocksStopAtTheirRank) {
  const double tiny = 1000 * std::numeric_limits<RealOf<TypeParam>>::epsilon();
  for (const FactorKind kind : this->pivoted()) {
    for (int instance = 0; instance < 60; ++instance) {
      const std::int32_t w = this->draw(1, 80), rank = this->draw(0, w / 2);
      DenseBlock<TypeParam> a(kind, w, 0);
      std::vector<TypeParam> x(w), y(w);
      for (std::int32_t r = 0; r < rank; ++r) {
        for (std::int32_t i = 0; i < w; ++i) x[i] = this->value(), y[i] = this->value();
        for (std::int32_t j = 0; j < w; ++j)
          for (std::int32_t i = 0; i < w; ++i)
            a(i, j) +=
                kind == FactorKind::kLu
                    ? TypeParam(x[i] * y[j])
                    : TypeParam(x[i] * across(x[j]) * TypeParam(r % 2 == 0 ? 1 : -1));
      }
      const PivotCounts counts = this->check(a, {.threshold = 1e-3, .tiny = tiny * w});
      EXPECT_EQ(counts.eliminated, rank) << "instance " << instance << ", w " << w;
    }
  }
}

TYPED_TEST(SingularEntries, ZeroBlocksAreLeftOrPerturbed) {
  for (const FactorKind kind : this->pivoted()) {
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
                    TypeParam(RealOf<TypeParam>(tiny > 0 ? tiny : 1)));
      }
    }
  }
}

TYPED_TEST(SingularBlock, StaticPivotingPerturbsDiagonalEntriesAlone) {
  const double epsilon = std::numeric_limits<TypeParam>::epsilon();
  std::int32_t perturbed = 0;
  for (const FactorKind kind : this->pivoted()) {
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

TYPED_TEST(SingularEntries, StaticPivotingChangesNothingWherePivotsAreGood) {
  for (const FactorKind kind : this->pivoted()) {
    for (int instance = 0; instance < 50; ++instance) {
      const auto a = this->draw_block(kind, this->draw(1, 80), this->rows());
      const PivotCounts counts = this->check(a, {.threshold = 1e-3, .take_all = true});
      EXPECT_EQ(counts.perturbed, 0);
      if (this->HasFailure()) FAIL() << "instance " << instance;
    }
  }
}

TYPED_TEST(SingularBlock, EntriesThatAreNotFiniteEndTheFactorisation) {
  using Limits = std::numeric_limits<TypeParam>;
  for (const FactorKind kind : this->kinds()) {
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

}  // namespace TEST_SOURCE
}  // namespace espalier::solver::kernels
