#include "solver/refine/singularity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "solver/support/square_systems.h"

namespace espalier::solver {
namespace TEST_SOURCE {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

SquareMatrix square_from(const Dense& m) {
  SquareMatrix a{{m.size(), {0}, {}, {}}, {}};
  for (std::int32_t j = 0; j < m.size(); ++j) {
    for (std::int32_t i = j; i < m.size(); ++i) {
      a.lower.row.push_back(i);
      a.lower.value.push_back(static_cast<double>(m(i, j)));
      a.upper.push_back(static_cast<double>(m(j, i)));
    }
    a.lower.column_start.push_back(std::ssize(a.lower.row));
  }
  return a;
}

BlockOperator product_with(const Dense& m) {
  return [m](std::span<double> block, std::int32_t) { apply<double>(m, block); };
}

Dense transposed(const Dense& m) {
  Dense result(m.size());
  for (std::int32_t j = 0; j < m.size(); ++j)
    for (std::int32_t i = 0; i < m.size(); ++i) result(i, j) = m(j, i);
  return result;
}

// As an elimination in double precision leaves it: every entry with a rounding error.
Dense with_rounding(std::mt19937& random, Dense m) {
  std::uniform_real_distribution<> error(-8 * kEpsilon, 8 * kEpsilon);
  for (std::int32_t j = 0; j < m.size(); ++j)
    for (std::int32_t i = 0; i < m.size(); ++i) m(i, j) *= 1 + error(random);
  return m;
}

NullQuotient quotient_of(std::mt19937& random, const Dense& m) {
  const Dense inverse = inverse_of(with_rounding(random, m));
  if (inverse.size() < m.size()) return {0, 0};
  return null_quotient(square_from(m), false, product_with(inverse),
                       product_with(transposed(inverse)));
}

// The last row and column are sums of others.
Dense singular(std::mt19937& random, std::int32_t n) {
  Dense m(n);
  for (std::int32_t j = 0; j < n; ++j)
    for (std::int32_t i = 0; i < n; ++i) m(i, j) = draw(random, -9, 9);
  for (std::int32_t i = 0; i < n; ++i) {
    m(i, n - 1) = 0;
    for (std::int32_t j = 0; j + 1 < n; ++j) m(i, n - 1) += m(i, j);
  }
  return m;
}

TEST(NullQuotient, OfATwoByTwoMatrix) {
  // v = w = (1, -1) / 1 is the vector of the least eigenvalue, 1e-6: A v = 1e-6 v, and
  // |A| |v| = 2 - 1e-6 in either row.
  Dense m(2);
  m(0, 0) = m(1, 1) = 1;
  m(0, 1) = m(1, 0) = 1 - 1e-6L;
  const auto solve = product_with(inverse_of(m));
  const NullQuotient quotient = null_quotient(square_from(m), true, solve, solve);
  EXPECT_NEAR(quotient.first, 1e-6 / (2 - 1e-6), 1e-9);
}

TEST(NullQuotient, IsZeroWhereRoundingAloneMadeThePivots) {
  std::mt19937 random(1);
  for (int instance = 0; instance < 300; ++instance) {
    const Dense m = singular(random, draw(random, 2, 30));
    EXPECT_LE(quotient_of(random, m).last, kZeroQuotient) << describe(square_from(m));
  }
}

TEST(NullQuotient, DoesNotDependOnTheScaling) {
  // Graded over 60 decimal orders and more: no pivot would be called large.
  std::mt19937 random(2);
  for (int instance = 0; instance < 300; ++instance) {
    const std::int32_t n = draw(random, 2, 12);
    const bool is_singular = draw(random, 0, 1) == 1;
    Dense m = singular(random, n);
    if (!is_singular)
      for (std::int32_t i = 0; i < n; ++i) m(i, i) += 60 * n;
    for (std::int32_t k = 0; k < n; ++k) {
      const int row = draw(random, -100, 100), column = draw(random, -100, 100);
      for (std::int32_t i = 0; i < n; ++i) {
        m(k, i) = std::ldexp(m(k, i), row);
        m(i, k) = std::ldexp(m(i, k), column);
      }
    }
    const double last = quotient_of(random, m).last;
    if (is_singular)
      EXPECT_LE(last, kZeroQuotient) << describe(square_from(m));
    else
      EXPECT_GE(last, 1e-3) << describe(square_from(m));
  }
}

TEST(NullQuotient, IsNotZeroForHilbertMatrices) {
  std::mt19937 random(3);
  for (std::int32_t n = 1; n <= 10; ++n) {
    Dense m(n);
    for (std::int32_t j = 0; j < n; ++j)
      for (std::int32_t i = 0; i < n; ++i)
        m(i, j) = static_cast<double>(1.L / (i + j + 1));
    EXPECT_GT(quotient_of(random, m).last, 2 * kZeroQuotient) << n;
  }
}

// Rows and columns 0 and 1 are alike and have no diagonal: w, v = (1, -1, 0, 0), and all
// entries between their rows and columns are zeros.
TEST(NullQuotient, IsZeroWhereNullVectorsMeetNoEntries) {
  constexpr int kEntries[4][4] = {
      {0, 0, -2, 1}, {0, 0, -2, 1}, {-2, -2, 4, 0}, {1, 1, 0, -6}};
  std::mt19937 random(4);
  Dense m(4);
  for (std::int32_t j = 0; j < 4; ++j)
    for (std::int32_t i = 0; i < 4; ++i) m(i, j) = kEntries[i][j];
  for (int instance = 0; instance < 20; ++instance) {
    // Symmetric errors of an elimination, which are none between rows 0 and 1.
    Dense near = with_rounding(random, m);
    for (std::int32_t j = 0; j < 4; ++j)
      for (std::int32_t i = 0; i < j; ++i) near(i, j) = near(j, i);
    const Dense inverse = inverse_of(near);
    if (inverse.size() < 4) continue;
    const auto solve = product_with(inverse);
    EXPECT_LE(null_quotient(square_from(m), true, solve, solve).last, kZeroQuotient);
    EXPECT_LE(null_quotient(square_from(m), false, solve, solve).last, kZeroQuotient);
  }
  // Unlike ones are regular, however near: 1e-6 of an entry.
  m(1, 2) = m(2, 1) = -2 * (1 + 1e-6L);
  const auto solve = product_with(inverse_of(m));
  EXPECT_GT(null_quotient(square_from(m), true, solve, solve).last, 1e-8);
}

TEST(NullQuotient, OfExtremes) {
  const BlockOperator none = [](std::span<double>, std::int32_t) {};
  EXPECT_EQ(null_quotient(SquareMatrix{{0, {0}, {}, {}}, {}}, true, none, none).last, 1);
  // A zero row, whose pivot was replaced by 1e-8.
  const SquareMatrix zero{{2, {0, 1, 2}, {0, 1}, {3, 0}}, {}};
  const BlockOperator replaced = [](std::span<double> x, std::int32_t) {
    x[0] /= 3;
    x[1] /= 1e-8;
  };
  EXPECT_EQ(null_quotient(zero, true, replaced, replaced).last, 0);
  const BlockOperator overflows = [](std::span<double> x, std::int32_t) {
    for (double& each : x) each = HUGE_VAL;
  };
  EXPECT_EQ(null_quotient(zero, true, overflows, overflows).last, 0);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
