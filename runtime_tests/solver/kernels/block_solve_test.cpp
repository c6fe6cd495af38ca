#include "solver/kernels/block_solve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "random_entries.h"

namespace espalier::solver::kernels {
namespace TEST_SOURCE {

template <class T>
class BlockSolves : public RandomEntries<T> {
 protected:
  BlockSolves() : RandomEntries<T>(11) {}
  using Base = RandomEntries<T>;
  using Base::draw;
  using Base::value;

  std::vector<T> fill(std::int64_t size) {
    std::vector<T> entries(size);
    for (T& entry : entries) entry = value();
    return entries;
  }

  // One block of random shape and right-hand sides, well conditioned; column-major.
  void draw_instance() {
    e = draw(0, 2) == 0 ? draw(0, 90) : draw(0, 9);
    ld = e + draw(1, 3);
    nrhs = draw(0, 1) == 0 ? 1 : draw(0, 6);
    ldx = e + draw(1, 3);
    a = fill(std::int64_t{ld} * e);
    for (T& entry : a) entry /= RealOf<T>(e + 1);
    for (std::int32_t j = 0; j < e; ++j)
      a[j + std::int64_t{j} * ld] = T(1) + on_diagonal(value()) / T(2);
    x = fill(std::int64_t{ldx} * nrhs);
    given = x;
  }

  // op(A) x = given, A the lower or upper triangle, with ones on its diagonal if unit;
  // nothing outside x is touched.
  void expect_solved(bool lower, bool transposed, bool unit) {
    using Real = RealOf<T>;
    const Real tolerance = 32 * Real(e + 1) * std::numeric_limits<Real>::epsilon();
    for (std::int32_t r = 0; r < nrhs; ++r) {
      for (std::int32_t i = 0; i < ldx; ++i) {
        const std::int64_t place = i + std::int64_t{r} * ldx;
        T sum = i < e ? T(0) : x[place];
        for (std::int32_t j = 0; i < e && j < e; ++j) {
          const std::int32_t p = transposed ? j : i, q = transposed ? i : j;
          if (lower ? p < q : p > q) continue;
          const T stored = a[p + std::int64_t{q} * ld];
          const T entry = p == q && unit ? T(1) : transposed ? across(stored) : stored;
          sum += entry * x[j + std::int64_t{r} * ldx];
        }
        ASSERT_LE(std::abs(T(sum - given[place])), i < e ? tolerance : 0)
            << "row " << i << ", e " << e << ", nrhs " << nrhs;
      }
    }
  }

  std::int32_t e = 0, ld = 0, nrhs = 0, ldx = 0;
  std::vector<T> a, x, given;
};

using AllEntries =
    testing::Types<double, float, std::complex<double>, std::complex<float>,
                   HermitianEntry<double>, HermitianEntry<float>>;
TYPED_TEST_SUITE(BlockSolves, AllEntries);

TYPED_TEST(BlockSolves, ForwardAndBackwardSolveTheirTriangles) {
  for (int instance = 0; instance < 300; ++instance) {
    for (const FactorKind kind :
         {FactorKind::kCholesky, FactorKind::kLdlt, FactorKind::kLu}) {
      this->draw_instance();
      forward_solve(kind, this->e, this->a.data(), this->ld, this->nrhs, this->x.data(),
                    this->ldx);
      this->expect_solved(true, false, kind != FactorKind::kCholesky);
      this->x = this->given;
      backward_solve(kind, this->e, this->a.data(), this->ld, this->nrhs, this->x.data(),
                     this->ldx);
      if (kind == FactorKind::kLu)
        this->expect_solved(false, false, false);
      else
        this->expect_solved(true, true, kind == FactorKind::kLdlt);
      if (this->HasFailure()) FAIL() << "kind " << int(kind);
    }
  }
}

TYPED_TEST(BlockSolves, TheTransposedPairOfLuSolvesItsTriangles) {
  for (int instance = 0; instance < 300; ++instance) {
    this->draw_instance();
    forward_solve_transposed(this->e, this->a.data(), this->ld, this->nrhs,
                             this->x.data(), this->ldx);
    this->expect_solved(false, true, false);
    this->x = this->given;
    backward_solve_transposed(this->e, this->a.data(), this->ld, this->nrhs,
                              this->x.data(), this->ldx);
    this->expect_solved(true, true, true);
    if (this->HasFailure()) return;
  }
}

// A factor that was saved and read, or that other processes hold, begins elsewhere.
TYPED_TEST(BlockSolves, BitsDoNotFollowThePlaceInMemory) {
  for (const std::int32_t pivots : {7, 20, 40, 77}) {
    const std::int32_t m = 53, leading = pivots + m;
    const auto factor = this->fill(std::int64_t{leading} * pivots);
    const auto vector = this->fill(leading);
    std::vector<TypeParam> first;
    for (std::int32_t at = 0; at < 8; ++at)
      for (const std::int32_t apart : {0, 1}) {
        std::vector<TypeParam> there(factor.size() + 8), values(vector.size() + 8);
        std::ranges::copy(factor, there.begin() + at);
        std::ranges::copy(vector, values.begin() + at * apart);
        const TypeParam* const l = there.data() + at;
        TypeParam* const top = values.data() + at * apart;
        forward_solve(FactorKind::kLdlt, pivots, l, leading, 1, top, leading);
        apply_below(m, pivots, l + pivots, leading, 1, top, leading, top + pivots,
                    leading);
        apply_below_transposed(m, pivots, l + pivots, leading, 1, top + pivots, leading,
                               top, leading);
        backward_solve(FactorKind::kLdlt, pivots, l, leading, 1, top, leading);
        backward_solve(FactorKind::kLu, pivots, l, leading, 1, top, leading);
        forward_solve_transposed(pivots, l, leading, 1, top, leading);
        const std::vector<TypeParam> found(top, top + leading);
        if (first.empty()) first = found;
        ASSERT_EQ(std::memcmp(found.data(), first.data(), leading * sizeof(TypeParam)), 0)
            << pivots << " pivots, " << at << " entries further on";
      }
  }
}

// Rows that stand by themselves are as far apart as they are many.
TYPED_TEST(BlockSolves, BitsDoNotFollowTheLeadingDimension) {
  for (const std::int32_t columns : {7, 20, 40, 77})
    for (std::int32_t m = 1; m <= 24; ++m) {
      const auto panel = this->fill(std::int64_t{m} * columns),
                 above = this->fill(columns), below = this->fill(m);
      std::vector<TypeParam> first;
      for (const std::int32_t leading : {m, m + 1, m + 4, m + 59}) {
        std::vector<TypeParam> rows(static_cast<std::size_t>(leading) * columns);
        for (std::int32_t j = 0; j < columns; ++j)
          std::copy_n(panel.data() + j * m, m, rows.data() + j * leading);
        std::vector<TypeParam> found = above, down = below;
        apply_below(m, columns, rows.data(), leading, 1, above.data(), columns,
                    down.data(), m);
        apply_below_transposed(m, columns, rows.data(), leading, 1, below.data(), m,
                               found.data(), columns);
        found.insert(found.end(), down.begin(), down.end());
        if (first.empty()) first = found;
        ASSERT_EQ(
            std::memcmp(found.data(), first.data(), found.size() * sizeof(TypeParam)), 0)
            << m << " rows, " << leading << " apart, of " << columns << " columns";
      }
    }
}

TYPED_TEST(BlockSolves, DivideByDUndoesPairsAndSinglePivots) {
  // D = diag(4, [1 3; 3 1], -2); D (1, 2, 3, 4) = (4, 11, 9, -8).
  const TypeParam d[] = {4, 0, 1, 3, 1, 0, -2, 0};
  TypeParam values[] = {4, 11, 9, -8, 5, 8, 22, 18, -16, 5};
  divide_by_d(4, d, 2, values, 5);
  const TypeParam expected[] = {1, 2, 3, 4, 5, 2, 4, 6, 8, 5};
  for (int k = 0; k < 10; ++k)
    EXPECT_LE(std::abs(TypeParam(values[k] - expected[k])),
              8 * std::numeric_limits<RealOf<TypeParam>>::epsilon())
        << k;
}

TYPED_TEST(BlockSolves, DivideByDBearsPairsWhoseDeterminantOverflows) {
  using Real = RealOf<TypeParam>;
  const TypeParam big = std::sqrt(std::numeric_limits<Real>::max()) * 4;
  const TypeParam d[] = {0, big, 0, 0};
  TypeParam values[] = {big, big + big};
  divide_by_d(2, d, 1, values, 2);
  EXPECT_EQ(values[0], TypeParam(2));
  EXPECT_EQ(values[1], TypeParam(1));
}

TYPED_TEST(BlockSolves, RowsBelowApplyThereAndBack) {
  for (int instance = 0; instance < 300; ++instance) {
    this->draw_instance();
    const std::int32_t m = this->draw(0, 60), lda = m + 2, ldy = m + 1;
    const auto rows = this->fill(std::int64_t{lda} * this->e);
    const auto y = this->fill(std::int64_t{ldy} * this->nrhs);
    using Real = RealOf<TypeParam>;
    const Real tolerance =
        8 * Real(this->e + m + 1) * std::numeric_limits<Real>::epsilon();
    auto down = y;
    apply_below(m, this->e, rows.data(), lda, this->nrhs, this->given.data(), this->ldx,
                down.data(), ldy);
    apply_below_transposed(m, this->e, rows.data(), lda, this->nrhs, y.data(), ldy,
                           this->x.data(), this->ldx);
    for (std::int32_t r = 0; r < this->nrhs; ++r) {
      const TypeParam* const top = this->given.data() + std::int64_t{r} * this->ldx;
      const TypeParam* const bottom = y.data() + std::int64_t{r} * ldy;
      for (std::int32_t i = 0; i < ldy; ++i) {
        TypeParam sum = bottom[i];
        for (std::int32_t k = 0; i < m && k < this->e; ++k)
          sum -= rows[i + std::int64_t{k} * lda] * top[k];
        ASSERT_LE(std::abs(TypeParam(down[i + std::int64_t{r} * ldy] - sum)), tolerance);
      }
      for (std::int32_t k = 0; k < this->ldx; ++k) {
        TypeParam sum = top[k];
        for (std::int32_t i = 0; k < this->e && i < m; ++i)
          sum -= across(rows[i + std::int64_t{k} * lda]) * bottom[i];
        ASSERT_LE(std::abs(TypeParam(this->x[k + std::int64_t{r} * this->ldx] - sum)),
                  tolerance);
      }
    }
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver::kernels
