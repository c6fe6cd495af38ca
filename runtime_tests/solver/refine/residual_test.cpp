#include "solver/refine/residual.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "solver/support/square_systems.h"

namespace espalier::solver {
namespace TEST_SOURCE {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
using Vector = std::vector<double>;

//   4 2 .
//   2 5 1
//   . 1 3
SquareMatrix example() {
  return {{3, {0, 2, 4, 5}, {0, 1, 1, 2, 2}, {4, 2, 5, 1, 3}}, {}};
}

//   1 2 .
//   4 5 6
//   . . 7
SquareMatrix two_sided() {
  return {{3, {0, 2, 4, 5}, {0, 1, 1, 2, 2}, {1, 4, 5, 0, 7}}, {1, 2, 5, 6, 7}};
}

BackwardError error_of(const SquareMatrix& a, const Vector& x, const Vector& b) {
  Vector r(x.size());
  return ErrorMeasure(a, Operation::kPlain)(x, b, r);
}

TEST(Residual, OfAThreeByThreeSystem) {
  Vector r(3);
  for (const Operation operation : {Operation::kPlain, Operation::kTransposed}) {
    residual(example(), operation, Vector{1, 2, 3}, Vector{8, 16, 10}, r);
    EXPECT_EQ(r, (Vector{0, 1, -1}));
  }
  multiply(two_sided(), Operation::kPlain, Vector{1, 2, 3}, r);
  EXPECT_EQ(r, (Vector{5, 32, 21}));
  multiply(two_sided(), Operation::kTransposed, Vector{1, 2, 3}, r);
  EXPECT_EQ(r, (Vector{9, 12, 33}));
}

TEST(Residual, IsThatOfTheDenseMatrix) {
  std::mt19937 random(1);
  for (int instance = 0; instance < 500; ++instance) {
    const std::int32_t n = draw(random, 0, 20);
    const SquareMatrix a = random_square(random, n);
    const Vector x = random_vector(random, n), b = random_vector(random, n);
    for (const Operation operation : {Operation::kPlain, Operation::kTransposed}) {
      const Dense dense = dense_of(a, operation);
      Vector r(n), product(n), measured(n);
      residual(a, operation, x, b, r);
      multiply(a, operation, x, product);
      ErrorMeasure measure(a, operation);
      const BackwardError error = measure(x, b, measured);
      long double omega = 0;
      for (std::int32_t i = 0; i < n; ++i) {
        long double exact = 0, weight = std::abs(b[i]);
        for (std::int32_t j = 0; j < n; ++j) {
          exact += dense(i, j) * x[j];
          weight += std::abs(dense(i, j) * x[j]);
        }
        const auto rounding = static_cast<double>(weight) * 1e-15;
        ASSERT_NEAR(product[i], static_cast<double>(exact), rounding) << describe(a);
        ASSERT_NEAR(r[i], static_cast<double>(b[i] - exact), rounding) << describe(a);
        if (weight > 0) omega = std::max(omega, std::abs(b[i] - exact) / weight);
      }
      ASSERT_EQ(measured, r) << describe(a);
      ASSERT_NEAR(error.total(), static_cast<double>(omega), 1e-14) << describe(a);
    }
  }
}

TEST(BackwardError, OfAThreeByThreeSystem) {
  // |A||x| + |b| = 8 + 8, 15 + 16, 11 + 10
  EXPECT_EQ(error_of(example(), {1, 2, 3}, {8, 16, 10}).omega1, 1. / 21);
  EXPECT_EQ(error_of(example(), {1, 2, 3}, {8, 16, 10}).omega2, 0);
  EXPECT_EQ(error_of(example(), {1, 2, 3}, {8, 15, 11}).total(), 0);
  EXPECT_EQ(error_of(example(), {-1, 2, -3}, {0, 5, -7}).total(), 0);
}

TEST(BackwardError, OfAZeroRightHandSide) {
  EXPECT_EQ(error_of(example(), {0, 0, 0}, {0, 0, 0}).total(), 0);
  EXPECT_EQ(error_of(example(), {1e-9, 0, 0}, {0, 0, 0}).total(), 1);
}

TEST(BackwardError, LeavesZeroRowsAloneUnlessTheyCannotBeSolved) {
  const SquareMatrix a{{2, {0, 1, 1}, {0}, {2}}, {}};  // row 1 is empty
  EXPECT_EQ(error_of(a, {1, 7}, {2, 0}).total(), 0);
  EXPECT_EQ(error_of(a, {1, 7}, {2, 1}).omega1, 1);  // |b| alone in the denominator
}

TEST(BackwardError, JudgesRowsOfRoundingByTheWholeSolution) {
  // Row 1 meets only what rounding left of a zero: r / w alone would be 1.
  const SquareMatrix a{{3, {0, 2, 3, 4}, {0, 1, 1, 2}, {1, 1e-3, 1, 1}}, {}};
  const Vector x{1e-19, 0, 1}, b{1e-19, 0, 1};
  const BackwardError error = error_of(a, x, b);
  EXPECT_EQ(error.omega1, 0);
  EXPECT_GT(error.omega2, 0);
  EXPECT_LT(error.omega2, 1e-21);  // 1e-22 / (1.001 * 1)
}

TEST(BackwardError, NeverTakesNotANumberForSmall) {
  for (const double bad : {kNaN, kInfinity, -kInfinity})
    for (std::size_t i = 0; i < 3; ++i) {
      Vector x{1, 2, 3}, b{8, 15, 11};
      x[i] = bad;
      EXPECT_EQ(error_of(example(), x, b).total(), kInfinity) << "x" << i << " " << bad;
      b[i] = bad;
      EXPECT_EQ(error_of(example(), {1, 2, 3}, b).total(), kInfinity)
          << "b" << i << " " << bad;
    }
  const SquareMatrix empty_column{{2, {0, 1, 1}, {0}, {2}}, {}};
  EXPECT_EQ(error_of(empty_column, {1, kNaN}, {2, 0}).total(), kInfinity);
  const SquareMatrix huge{{2, {0, 2, 3}, {0, 1, 1}, {1e308, -1e308, 1e308}}, {}};
  EXPECT_EQ(error_of(huge, {1e10, 1e10}, {1, 1}).total(), kInfinity);
}

TEST(BackwardError, FindsAKnownPerturbation) {
  // (A + E) x = b with |E| = e |A|: row sums of |A||x| carry e, and b is of the same
  // size.
  std::mt19937 random(7);
  for (int instance = 0; instance < 300; ++instance) {
    const std::int32_t n = draw(random, 1, 20);
    SquareMatrix a{random_spd(random, n), {}};
    for (double& value : a.lower.value) value = std::abs(value);
    const Vector ones(n, 1.0);
    Vector b(n);
    multiply(a, Operation::kPlain, ones, b);
    for (double& value : b) value *= 1 + 1e-6;
    EXPECT_NEAR(error_of(a, ones, b).total(), 1e-6 / (2 + 1e-6), 1e-14) << describe(a);
  }
}

TEST(BackwardError, DoesNotChangeWithTheScaling) {
  std::mt19937 random(8);
  for (int instance = 0; instance < 300; ++instance) {
    const std::int32_t n = draw(random, 1, 20);
    SquareMatrix a = random_square(random, n);
    if (a.symmetric()) a.upper = a.lower.value;
    Vector x = random_vector(random, n), b = random_vector(random, n);
    const BackwardError before = error_of(a, x, b);
    std::vector<int> row(n), column(n);
    for (int& s : row) s = draw(random, -9, 9);
    for (int& s : column) s = draw(random, -3, 3);  // no row changes its class
    for (std::int32_t j = 0; j < n; ++j) {
      x[j] = std::ldexp(x[j], -column[j]);
      b[j] = std::ldexp(b[j], row[j]);
      for (auto k = a.lower.column_start[j]; k < a.lower.column_start[j + 1]; ++k) {
        const std::int32_t i = a.lower.row[k];
        a.lower.value[k] = std::ldexp(a.lower.value[k], row[i] + column[j]);
        a.upper[k] = std::ldexp(a.upper[k], row[j] + column[i]);
      }
    }
    EXPECT_EQ(error_of(a, x, b).total(), before.total()) << describe(a);
  }
}

TEST(BackwardError, IsThatOfTheGivenSystemWhateverItsColumnsWereScaledBy) {
  // Columns of any size: rows change their class in the scaled system, not in this.
  std::mt19937 random(9);
  for (int instance = 0; instance < 300; ++instance) {
    const std::int32_t n = draw(random, 1, 20);
    SquareMatrix a = random_square(random, n);
    if (a.symmetric()) a.upper = a.lower.value;
    Vector x = random_vector(random, n), scale(n);
    const Vector b = random_vector(random, n);
    const BackwardError before = error_of(a, x, b);
    for (std::int32_t j = 0; j < n; ++j) {
      const int exponent = draw(random, -200, 200);
      scale[j] = std::ldexp(1.0, exponent);  // of the given unknown
      x[j] = std::ldexp(x[j], -exponent);
      for (std::int32_t column = 0; column < n; ++column)
        for (auto k = a.lower.column_start[column]; k < a.lower.column_start[column + 1];
             ++k) {
          if (column == j) a.lower.value[k] = std::ldexp(a.lower.value[k], exponent);
          if (a.lower.row[k] == j) a.upper[k] = std::ldexp(a.upper[k], exponent);
        }
    }
    Vector r(n);
    ErrorMeasure measure(a, Operation::kPlain, {scale, {}, 0});
    EXPECT_EQ(measure(x, b, r).total(), before.total()) << describe(a);
  }
}

TEST(BackwardError, IsTheSameWhetherTheLargestEntryIsKnown) {
  // Rows whose terms are all but nothing, too, and unknowns of any size: some instances
  // are told by the largest entry alone, others need the sums of rows.
  std::mt19937 random(10);
  for (int instance = 0; instance < 600; ++instance) {
    const std::int32_t n = draw(random, 1, 20);
    const SquareMatrix a = random_square(random, n);
    Vector x = random_vector(random, n), b = random_vector(random, n), scale;
    const int spread = draw(random, 0, 1) * 60;
    for (double& each : x) each = std::ldexp(each, draw(random, -spread, 0));
    for (double& each : b) each = std::ldexp(each, draw(random, -spread, 0));
    for (std::int32_t j = 0; instance % 3 == 0 && j < n; ++j)
      scale.push_back(std::ldexp(1.0, draw(random, -9, 9)));
    double largest = 0;
    for (const Vector* values : {&a.lower.value, &a.upper})
      for (const double each : *values) largest = std::max(largest, std::abs(each));
    Vector r(n), other(n);
    ErrorMeasure known(a, Operation::kPlain, {scale, {}, largest});
    ErrorMeasure unknown(a, Operation::kPlain, {scale, {}, 0});
    for (int call = 0; call < 2; ++call) {
      const BackwardError one = known(x, b, r), two = unknown(x, b, other);
      EXPECT_EQ(one.omega1, two.omega1) << describe(a);
      EXPECT_EQ(one.omega2, two.omega2) << describe(a);
      EXPECT_EQ(one.strict, two.strict) << describe(a);
      EXPECT_EQ(r, other);
      EXPECT_TRUE(std::ranges::equal(known.denominators(), unknown.denominators()));
      x[0] = 0;
    }
  }
}

TEST(BackwardError, ExcusesARowByUnknownsOfItsOwnSystemAlone) {
  // x_0 = 1e100 has nothing to do with rows 1 and 2, where x is wrong by a half.
  const SquareMatrix a{{3, {0, 1, 3, 4}, {0, 1, 2, 2}, {1, 2, 1, 2}}, {}};
  const Vector x{1e100, 0.5, 0.5}, b{1e100, 3, 3};
  EXPECT_LT(error_of(a, x, b).total(), 1e-90);
  const std::vector<std::int32_t> systems{0, 1, 1};
  Vector r(3);
  EXPECT_EQ(ErrorMeasure(a, Operation::kPlain, {{}, systems, 0})(x, b, r).omega1,
            1.5 / 4.5);
}

TEST(CleanError, IsThatOfErrorMeasureOrNone) {
  std::mt19937 random(21);
  int clean = 0;
  for (int round = 0; round < 2000; ++round) {
    const std::int32_t n = draw(random, 1, 20);
    SquareMatrix a = random_square(random, n);
    a.upper.clear();
    Vector x = random_vector(random, n);
    if (round % 3 == 0) x[draw(random, 0, n - 1)] *= 1e14;
    if (round % 50 == 0) x[draw(random, 0, n - 1)] = round % 100 == 0 ? kNaN : kInfinity;
    const Vector b = random_vector(random, n);
    double largest = 0;
    for (const double value : a.lower.value) largest = std::max(largest, std::abs(value));
    Vector work(2 * n), r(n);
    const auto one = clean_error(a.lower, largest, x, b, work);
    const BackwardError whole =
        ErrorMeasure(a, Operation::kPlain,
                     {.scale = {}, .block = {}, .largest_entry = largest})(x, b, r);
    if (!one) continue;
    ++clean;
    EXPECT_NEAR(one->error, whole.total(), 1e-15) << "round " << round;
    EXPECT_EQ(whole.omega2, 0);
    EXPECT_EQ(whole.strict, 0);
  }
  EXPECT_GT(clean, 500);
  EXPECT_LT(clean, 1900);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
