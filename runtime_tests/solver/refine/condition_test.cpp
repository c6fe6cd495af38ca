// Norms, condition numbers and errors beside exact inverses, in over 300 lines.

#include "solver/refine/condition.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "solver/refine/norm_estimate.h"
#include "solver/support/square_systems.h"

namespace espalier::solver {
namespace TEST_SOURCE {

using Vector = std::vector<double>;

double norm1(const Dense& m) {
  long double norm = 0;
  for (std::int32_t j = 0; j < m.size(); ++j) {
    long double sum = 0;
    for (std::int32_t i = 0; i < m.size(); ++i) sum += std::abs(m(i, j));
    norm = std::max(norm, sum);
  }
  return static_cast<double>(norm);
}

Dense transpose_of(const Dense& m) {
  Dense result(m.size());
  for (std::int32_t j = 0; j < m.size(); ++j)
    for (std::int32_t i = 0; i < m.size(); ++i) result(i, j) = m(j, i);
  return result;
}

BlockOperator product_with(const Dense& m) {
  return [m](std::span<double> block, std::int32_t) { apply<double>(m, block); };
}

double estimate(const Dense& m) {
  return estimate_norm1(m.size(), product_with(m), product_with(transpose_of(m)));
}

// Of vectors that stay as they are.
ErrorEstimate estimate_of(const SquareMatrix& a, Vector b, const Vector& y,
                          const BlockOperator& solve,
                          const BlockOperator& solve_transposed,
                          const ErrorEstimateOptions& options = {}) {
  const double norm = weigh_errors(a, y, b, options);
  return estimate_errors(a, b, norm, solve, solve_transposed, options);
}

SquareMatrix hilbert(std::int32_t n) {
  SquareMatrix a{{n, {0}, {}, {}}, {}};
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int32_t i = j; i < n; ++i) {
      a.lower.row.push_back(i);
      a.lower.value.push_back(1. / (i + j + 1));
    }
    a.lower.column_start.push_back(std::ssize(a.lower.row));
  }
  return a;
}

TEST(EstimateNorm1, IsExactForSmallAndForDiagonalMatrices) {
  EXPECT_EQ(estimate(Dense(0)), 0);
  Dense two(2);
  two(0, 0) = 1, two(1, 0) = -3, two(0, 1) = 2, two(1, 1) = 1;
  EXPECT_EQ(estimate(two), 4);
  for (const std::int32_t n : {5, 6, 50}) {
    EXPECT_EQ(estimate(Dense(n)), 0) << "zero";
    Dense diagonal(n);
    for (std::int32_t i = 0; i < n; ++i) diagonal(i, i) = (i * 7) % n - 2;
    EXPECT_EQ(estimate(diagonal), n - 3);
  }
}

TEST(EstimateNorm1, IsALowerBoundSeldomFarBelow) {
  std::mt19937 random(1);
  std::normal_distribution<long double> normal;
  int low = 0, exact = 0;
  constexpr int kInstances = 2000;
  for (int instance = 0; instance < kInstances; ++instance) {
    const std::int32_t n = draw(random, 1, 40);
    Dense m(n);
    const int kind = draw(random, 0, 3);
    for (std::int32_t j = 0; j < n; ++j)
      for (std::int32_t i = 0; i < n; ++i)
        m(i, j) = kind == 0   ? normal(random)
                  : kind == 1 ? std::exp(4 * normal(random)) * normal(random)
                  : kind == 2 ? static_cast<long double>(draw(random, -1, 1))
                              : std::pow(10.0L, -draw(random, 0, i + 1));
    const double truth = norm1(m), found = estimate(m);
    ASSERT_LE(found, truth * (1 + 1e-13)) << "kind " << kind << " order " << n;
    ASSERT_GE(found, truth / 10) << "kind " << kind << " order " << n;
    low += found < truth / 3;
    exact += found > truth * (1 - 1e-13);
  }
  EXPECT_LE(low, kInstances / 100);
  EXPECT_GE(exact, kInstances * 6 / 10);
}

TEST(EstimateNorm1, IsInfiniteWhenAProductIsNotFinite) {
  for (const std::int32_t n : {1, 3, 9})
    for (const double bad : {std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()})
      for (const std::size_t place : {std::size_t{0}, static_cast<std::size_t>(n - 1)}) {
        const auto spoil = [&](std::span<double> block, std::int32_t) {
          block[place] = bad;
          block[block.size() - 1] = bad;
        };
        EXPECT_EQ(estimate_norm1(n, spoil, spoil),
                  std::numeric_limits<double>::infinity());
      }
}

TEST(EstimateNorm1, MakesFewProducts) {
  std::mt19937 random(2);
  std::normal_distribution<long double> normal;
  int total = 0;
  for (int instance = 0; instance < 200; ++instance) {
    Dense m(60);
    for (std::int32_t j = 0; j < 60; ++j)
      for (std::int32_t i = 0; i < 60; ++i) m(i, j) = normal(random);
    const Dense transpose = transpose_of(m);
    int products = 0;
    (void)estimate_norm1(
        60,
        [&](std::span<double> block, std::int32_t nrhs) {
          EXPECT_EQ(nrhs, 1);
          apply<double>(m, block);
          ++products;
        },
        [&](std::span<double> block, std::int32_t) {
          apply<double>(transpose, block);
          ++products;
        });
    ASSERT_LE(products, 2 * 11);
    total += products;
  }
  EXPECT_LE(total, 200 * 2 * 6);
}

// A system in exact terms: B = R op(A) C and its inverse, C^-1 op(A)^-1 R^-1.
struct Instance {
  SquareMatrix b;
  Operation operation = Operation::kPlain;
  Vector row_scale, column_scale;  // of B

  [[nodiscard]] ErrorEstimateOptions options() const {
    return {operation, row_scale, column_scale};
  }
  // op(A), from op(B)
  [[nodiscard]] Dense unscaled() const {
    Dense a = dense_of(b, operation);
    const bool transposed = operation == Operation::kTransposed;
    for (std::int32_t j = 0; j < a.size() && !row_scale.empty(); ++j)
      for (std::int32_t i = 0; i < a.size(); ++i)
        a(i, j) /=
            transposed ? column_scale[i] * row_scale[j] : row_scale[i] * column_scale[j];
    return a;
  }
  [[nodiscard]] Vector unscaled(const Vector& y) const {
    Vector x = y;
    const Vector& scale = operation == Operation::kTransposed ? row_scale : column_scale;
    for (std::size_t i = 0; i < scale.size(); ++i) x[i] *= scale[i];
    return x;
  }
};

Instance random_instance(std::mt19937& random) {
  const std::int32_t n = draw(random, 1, 25);
  Instance instance;
  instance.b = draw(random, 0, 2) ? random_square(random, n) : random_dominant(random, n);
  if (draw(random, 0, 4) == 0) instance.b = hilbert(draw(random, 1, 9));
  if (draw(random, 0, 1)) instance.operation = Operation::kTransposed;
  if (draw(random, 0, 1)) {
    for (std::int32_t i = 0; i < instance.b.size(); ++i) {
      instance.row_scale.push_back(std::ldexp(1., draw(random, -8, 8)));
      instance.column_scale.push_back(std::ldexp(1., draw(random, -8, 8)));
    }
  }
  return instance;
}

double max_of(const Vector& v) {
  double largest = 0;
  for (const double each : v) largest = std::max(largest, std::abs(each));
  return largest;
}

TEST(EstimateErrors, BoundsTheErrorAndTheConditionNumber) {
  std::mt19937 random(3);
  int condition_low = 0, bound_low = 0, bound_loose = 0, instances = 0;
  while (instances < 1000) {
    const Instance instance = random_instance(random);
    const std::int32_t n = instance.b.size();
    const Dense inverse = inverse_of(dense_of(instance.b, instance.operation));
    if (inverse.size() == 0 || norm1(inverse) > 1e13) continue;  // long double is too
    ++instances;                                                 // short for the truth
    const Vector b = random_vector(random, n);
    Vector y = b;
    apply<double>(inverse, y);
    const Vector exact = y;
    const double wrong = std::pow(10., -draw(random, 6, 17));
    for (double& each : y) each *= 1 + wrong * draw(random, -9, 9);
    const ErrorEstimate found =
        estimate_of(instance.b, b, y, product_with(inverse),
                    product_with(transpose_of(inverse)), instance.options());
    const Dense a = instance.unscaled();
    const double condition = norm1(a) * norm1(inverse_of(a));
    ASSERT_LE(found.condition_1norm, condition * (1 + 1e-9)) << describe(instance.b);
    condition_low += found.condition_1norm < condition / 10;

    Vector difference = y;
    for (std::int32_t i = 0; i < n; ++i) difference[i] -= exact[i];
    const double size = max_of(instance.unscaled(y));
    if (size == 0) continue;
    const double error = max_of(instance.unscaled(difference)) / size;
    ASSERT_GE(found.forward_error_bound, error / 10) << describe(instance.b);
    bound_low += found.forward_error_bound < error * (1 - 1e-6);
    bound_loose += found.forward_error_bound > 1e4 * std::max(error, 1e-14);
  }
  EXPECT_LE(condition_low, 2);
  EXPECT_LE(bound_low, 10);
  EXPECT_LE(bound_loose, 300);
}

// The bound that is estimated, with the exact inverse.
TEST(EstimateErrors, IsNoMoreThanTheBoundItEstimates) {
  std::mt19937 random(4);
  for (int instance = 0; instance < 500; ++instance) {
    const std::int32_t n = draw(random, 1, 20);
    const SquareMatrix a = random_dominant(random, n);
    const Dense inverse = inverse_of(dense_of(a, Operation::kPlain));
    const Vector b = random_vector(random, n), x = random_vector(random, n);
    if (max_of(x) == 0) continue;
    Vector r(n), rounding(n);
    residual(a, Operation::kPlain, x, b, r);
    residual_rounding(a, Operation::kPlain, x, b, rounding);
    long double bound = 0;
    for (std::int32_t i = 0; i < n; ++i) {
      long double sum = 0;
      for (std::int32_t j = 0; j < n; ++j)
        sum += std::abs(inverse(i, j)) * (std::abs(r[j]) + rounding[j]);
      bound = std::max(bound, sum);
    }
    const double truth = static_cast<double>(bound) / max_of(x);
    const double found =
        estimate_of(a, b, x, product_with(inverse), product_with(transpose_of(inverse)))
            .forward_error_bound;
    ASSERT_LE(found, truth * (1 + 1e-12)) << describe(a);
    ASSERT_GE(found, truth / 5) << describe(a);
  }
}

// One solve tells that a bound is good enough; where it is not, or nearly not, the
// verdict is that of the estimate without, and so is the bound where it is good enough.
TEST(EstimateErrors, AreNoneWhereAProbeFindsThemGoodEnough) {
  std::mt19937 random(5);
  int none = 0, some = 0;
  for (int instance = 0; instance < 1000; ++instance) {
    const Instance each = random_instance(random);
    const std::int32_t n = each.b.size();
    const Dense inverse = inverse_of(dense_of(each.b, each.operation));
    if (inverse.size() == 0 || norm1(inverse) > 1e13) continue;
    const Vector b = random_vector(random, n);
    Vector y = b;
    apply<double>(inverse, y);
    if (max_of(y) == 0) continue;
    const Dense transpose = transpose_of(inverse);
    ErrorEstimateOptions options = each.options();
    const ErrorEstimate whole = estimate_of(each.b, b, y, product_with(inverse),
                                            product_with(transpose), options);
    options.enough = std::pow(10., -draw(random, 8, 15));
    Vector weights = b;
    const double norm = weigh_errors(each.b, y, weights, options);
    Vector probe = weights;
    if (!is_doubtful(probe, norm, product_with(inverse), options)) {
      ASSERT_LE(whole.forward_error_bound, options.enough) << describe(each.b);
      ++none;
      continue;
    }
    const ErrorEstimate found = estimate_errors(
        each.b, weights, norm, product_with(inverse), product_with(transpose), options);
    EXPECT_LE(found.forward_error_bound, whole.forward_error_bound);
    EXPECT_EQ(found.forward_error_bound > options.enough,
              whole.forward_error_bound > options.enough);
    if (whole.forward_error_bound <= options.enough) {
      EXPECT_EQ(found.forward_error_bound, whole.forward_error_bound);
    }
    EXPECT_EQ(found.condition_1norm, 0);
    ASSERT_GE(whole.forward_error_bound, options.enough / (100. * n * n));
    ++some;
  }
  EXPECT_GT(none, 200);
  EXPECT_GT(some, 200);
}

TEST(EstimateErrors, KnowsTheConditionOfHilbertMatrices) {
  // || H ||_1 || H^-1 ||_1 of orders 2, 3 and 6: 27, 748 and 29 070 279.
  const auto condition = [](std::int32_t n) {
    const SquareMatrix a = hilbert(n);
    const Dense inverse = inverse_of(dense_of(a, Operation::kPlain));
    const Vector ones(n, 1.0);
    return estimate_of(a, ones, ones, product_with(inverse), product_with(inverse))
        .condition_1norm;
  };
  EXPECT_NEAR(condition(2), 27, 1e-9);
  EXPECT_NEAR(condition(3), 748, 1e-6);
  EXPECT_NEAR(condition(6), 29'070'279, 10);
}

TEST(EstimateErrors, TakesOrderZeroAndAZeroSolution) {
  SquareMatrix none;
  none.lower.column_start = {0};
  const BlockOperator same = [](std::span<double>, std::int32_t) {};
  EXPECT_EQ(estimate_of(none, {}, {}, same, same).forward_error_bound, 0);
  const SquareMatrix one{{1, {0, 1}, {0}, {1}}, {}};
  const Vector zero{0}, five{5};
  EXPECT_EQ(estimate_of(one, zero, zero, same, same).forward_error_bound, 0);
  EXPECT_EQ(estimate_of(one, five, zero, same, same).forward_error_bound,
            std::numeric_limits<double>::infinity());
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
