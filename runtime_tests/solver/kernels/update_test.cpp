#include "solver/kernels/update.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "random_entries.h"

namespace espalier::solver::kernels {
namespace TEST_SOURCE {

constexpr float kCanary = 1e30F;

template <class T>
struct Grid {
  std::int32_t rows, columns, leading;
  std::vector<T> entries;

  Grid(std::int32_t m, std::int32_t n, std::int32_t padding)
      : rows(m),
        columns(n),
        leading(std::max(1, m + padding)),
        entries(std::size_t(leading) * n + 1, T(kCanary)) {}
  T& operator()(std::int32_t i, std::int32_t j) {
    return entries[i + std::size_t(j) * leading];
  }
};

template <class T>
class Updates : public RandomEntries<T> {
 protected:
  Updates() : RandomEntries<T>(7) {}
  using Base = RandomEntries<T>;
  using Base::draw;
  using Base::value;

  // Within the plain loops' reach, in one tile, and over several halves.
  std::int32_t size() { return draw(0, draw(0, 2) == 0 ? 130 : 14); }
  Grid<T> fill(std::int32_t m, std::int32_t n, bool lower = false) {
    Grid<T> a(m, n, draw(0, 3));
    for (std::int32_t j = 0; j < n; ++j)
      for (std::int32_t i = lower ? j : 0; i < m; ++i)
        a(i, j) = lower && i == j ? on_diagonal(value()) : value();
    return a;
  }
  // D of k columns with pairs at random.
  std::vector<T> draw_d(std::int32_t k) {
    std::vector<T> d(2 * std::size_t(k), T(0));
    for (std::int32_t j = 0; j < k; ++j) {
      d[2 * j] = on_diagonal(value());
      if (j + 1 == k || draw(0, 2) > 0) continue;
      d[2 * j + 1] = value();
      d[2 * j + 2] = on_diagonal(value());
      ++j;
    }
    return d;
  }
  static T entry_of_d(const std::vector<T>& d, std::int32_t p, std::int32_t q) {
    if (p == q) return d[2 * p];
    if (std::abs(p - q) > 1) return T(0);
    const T below = d[2 * std::min(p, q) + 1];
    return p > q ? below : across(below);
  }
  // expected := c - a d b^T where it has no canary; `actual` must be near.
  void expect_product(Grid<T>& a, const std::vector<T>* d, Grid<T>& b, Grid<T>& before,
                      Grid<T>& actual, bool lower) {
    const std::int32_t k = a.columns;
    using Real = RealOf<T>;
    const Real tolerance = 8 * Real(k + 1) * std::numeric_limits<Real>::epsilon();
    for (std::int32_t j = 0; j < before.columns; ++j) {
      for (std::int32_t i = lower ? j : 0; i < before.rows; ++i) {
        T sum = before(i, j);
        for (std::int32_t p = 0; p < k; ++p) {
          const std::int32_t first = d ? std::max(0, p - 1) : p;
          for (std::int32_t q = first; q <= (d ? std::min(k - 1, p + 1) : p); ++q)
            sum -= a(i, p) * (d ? entry_of_d(*d, p, q) : T(1)) * across(b(j, q));
        }
        ASSERT_LE(std::abs(T(actual(i, j) - sum)), tolerance) << i << " " << j;
        before(i, j) = actual(i, j);
      }
    }
    ASSERT_EQ(actual.entries, before.entries) << "outside";
  }
};

using AllEntries =
    testing::Types<double, float, std::complex<double>, std::complex<float>,
                   HermitianEntry<double>, HermitianEntry<float>>;
TYPED_TEST_SUITE(Updates, AllEntries);

TYPED_TEST(Updates, LowerMatchesPlainLoopsOnTheTrapezoid) {
  for (int instance = 0; instance < 300; ++instance) {
    const std::int32_t n = this->size(), m = n + this->size(), k = this->size();
    auto a = this->fill(m, k), c = this->fill(m, n, true), before = c;
    update_lower(m, n, k, a.entries.data(), a.leading, c.entries.data(), c.leading);
    this->expect_product(a, nullptr, a, before, c, true);
    if (this->HasFailure()) FAIL() << "m " << m << ", n " << n << ", k " << k;
  }
}

TYPED_TEST(Updates, LowerWithPairsMatchesPlainLoopsOnTheTrapezoid) {
  for (int instance = 0; instance < 300; ++instance) {
    const std::int32_t n = this->size(), m = n + this->size(), k = this->size();
    auto a = this->fill(m, k), c = this->fill(m, n, true), before = c;
    const auto d = this->draw_d(k);
    std::vector<TypeParam> scratch(std::size_t(n) * k);
    update_lower_ldlt(m, n, k, a.entries.data(), a.leading, d.data(), c.entries.data(),
                      c.leading, scratch);
    this->expect_product(a, &d, a, before, c, true);
    if (this->HasFailure()) FAIL() << "m " << m << ", n " << n << ", k " << k;
  }
}

TYPED_TEST(Updates, LowerProductOfTwoFactorsMatchesPlainLoopsOnTheTrapezoid) {
  for (int instance = 0; instance < 300; ++instance) {
    const std::int32_t n = this->size(), m = n + this->size(), k = this->size();
    auto a = this->fill(m, k), b = this->fill(n, k), c = this->fill(m, n, true);
    auto before = c;
    update_lower_product(m, n, k, a.entries.data(), a.leading, b.entries.data(),
                         b.leading, c.entries.data(), c.leading);
    this->expect_product(a, nullptr, b, before, c, true);
    if (this->HasFailure()) FAIL() << "m " << m << ", n " << n << ", k " << k;
  }
}

TYPED_TEST(Updates, GeneralMatchesPlainLoops) {
  for (int instance = 0; instance < 300; ++instance) {
    const std::int32_t n = this->size(), m = this->size(), k = this->size();
    auto a = this->fill(m, k), b = this->fill(n, k), c = this->fill(m, n), before = c;
    update_general(m, n, k, a.entries.data(), a.leading, b.entries.data(), b.leading,
                   c.entries.data(), c.leading);
    this->expect_product(a, nullptr, b, before, c, false);
    if (this->HasFailure()) FAIL() << "m " << m << ", n " << n << ", k " << k;
  }
}

TYPED_TEST(Updates, MultiplyByDMayOverwriteItsSource) {
  for (int instance = 0; instance < 100; ++instance) {
    const std::int32_t m = this->size(), k = this->size();
    auto a = this->fill(m, k), b = a;
    const auto d = this->draw_d(k);
    multiply_by_d(m, k, a.entries.data(), a.leading, d.data(), b.entries.data(),
                  b.leading);
    for (std::int32_t j = 0; j < k; ++j) {
      for (std::int32_t i = 0; i < m; ++i) {
        TypeParam sum = 0;
        for (std::int32_t q = std::max(0, j - 1); q <= std::min(k - 1, j + 1); ++q)
          sum += a(i, q) * this->entry_of_d(d, q, j);
        ASSERT_LE(std::abs(TypeParam(b(i, j) - sum)),
                  8 * std::numeric_limits<RealOf<TypeParam>>::epsilon());
      }
    }
    multiply_by_d(m, k, a.entries.data(), a.leading, d.data(), a.entries.data(),
                  a.leading);
    EXPECT_EQ(a.entries, b.entries);
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver::kernels
