#include "solver/refine.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "solver/numeric/systems.h"

namespace espalier::solver {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
using Vector = std::vector<double>;

//   4 2 .
//   2 5 1
//   . 1 3
SymmetricMatrix example() { return {3, {0, 2, 4, 5}, {0, 1, 1, 2, 2}, {4, 2, 5, 1, 3}}; }

double error_of(const SymmetricMatrix& a, const Vector& x, const Vector& b) {
  Vector r(x.size()), scratch(x.size());
  residual(a, x, b, r);
  return backward_error(a, x, b, r, scratch);
}

TEST(Residual, OfAThreeByThreeSystem) {
  Vector r(3);
  residual(example(), Vector{1, 2, 3}, Vector{8, 16, 10}, r);
  EXPECT_EQ(r, (Vector{0, 1, -1}));
}

TEST(BackwardError, OfAThreeByThreeSystem) {
  // |A||x| + |b| = 8 + 8, 15 + 16, 11 + 10
  EXPECT_EQ(error_of(example(), {1, 2, 3}, {8, 16, 10}), 1. / 21);
  EXPECT_EQ(error_of(example(), {1, 2, 3}, {8, 15, 11}), 0);
  EXPECT_EQ(error_of(example(), {-1, 2, -3}, {0, 5, -7}), 0);
}

TEST(BackwardError, OfAZeroRightHandSide) {
  EXPECT_EQ(error_of(example(), {0, 0, 0}, {0, 0, 0}), 0);
  EXPECT_EQ(error_of(example(), {1e-9, 0, 0}, {0, 0, 0}), 1);
}

TEST(BackwardError, LeavesZeroRowsAloneUnlessTheyCannotBeSolved) {
  const SymmetricMatrix a{2, {0, 1, 1}, {0}, {2}};  // row 1 is empty
  EXPECT_EQ(error_of(a, {1, 7}, {2, 0}), 0);
  EXPECT_EQ(error_of(a, {1, 7}, {2, 1}), 1);  // |b| alone in the denominator
  Vector scratch(2);
  EXPECT_EQ(backward_error(a, Vector{1, 0}, Vector{2, 0}, Vector{0, 1e-300}, scratch),
            kInfinity);
}

TEST(BackwardError, NeverTakesNotANumberForSmall) {
  for (const double bad : {kNaN, kInfinity, -kInfinity})
    for (std::size_t i = 0; i < 3; ++i) {
      Vector x{1, 2, 3}, b{8, 15, 11};
      x[i] = bad;
      EXPECT_EQ(error_of(example(), x, b), kInfinity) << "x" << i << " " << bad;
      b[i] = bad;
      EXPECT_EQ(error_of(example(), {1, 2, 3}, b), kInfinity) << "b" << i << " " << bad;
    }
}

TEST(BackwardError, FindsAKnownPerturbation) {
  // (A + E) x = b with |E| = e |A|: row sums of |A||x| carry e, and b is of the same
  // size.
  std::mt19937 random(7);
  for (int instance = 0; instance < 300; ++instance) {
    const std::int32_t n = draw(random, 1, 20);
    SymmetricMatrix a = random_spd(random, n);
    for (double& value : a.value) value = std::abs(value);
    const Vector ones(n, 1.0), zeros(n, 0.0);
    Vector b(n);
    residual(a, ones, zeros, b);
    for (double& value : b) value *= -(1 + 1e-6);
    EXPECT_NEAR(error_of(a, ones, b), 1e-6 / (2 + 1e-6), 1e-14) << describe(a);
  }
}

TEST(Refine, LeavesAnExactSolutionAlone) {
  Vector x{1, 2, 3}, scratch(9);
  const Vector b{8, 15, 11};
  const Refinement result = refine(example(), b, x, scratch, [](std::span<double>) {
    FAIL() << "nothing is to be solved";
  });
  EXPECT_EQ(result.steps, 0);
  EXPECT_EQ(result.backward_error, 0);
  EXPECT_EQ(x, (Vector{1, 2, 3}));
}

TEST(Refine, CorrectsByASolverThatIsALittleWrong) {
  std::mt19937 random(8);
  for (int instance = 0; instance < 300; ++instance) {
    const std::int32_t n = draw(random, 1, 25);
    const SymmetricMatrix a = random_spd(random, n);
    Dense l(a);
    ASSERT_EQ(eliminate(l, 0, n), -1);
    const double wrong = 1 + 1e-5;
    const auto solve = [&](std::span<double> r) {
      const auto x = dense_solve(l, {r.begin(), r.end()});
      for (std::size_t i = 0; i < r.size(); ++i) r[i] = static_cast<double>(x[i]) * wrong;
    };
    Vector b(n), scratch(3 * n);
    for (double& value : b) value = draw(random, -9, 9);
    Vector x = b;
    solve(x);
    const double before = error_of(a, x, b);
    const Refinement result = refine(a, b, x, scratch, solve);
    ASSERT_LE(result.backward_error, 4e-16) << describe(a);
    ASSERT_EQ(result.backward_error, error_of(a, x, b)) << describe(a);
    if (before > 1e-12) {
      ASSERT_GT(result.steps, 0) << describe(a);
    }
  }
}

TEST(Refine, NeverReturnsAWorseSolution) {
  std::mt19937 random(9);
  for (int instance = 0; instance < 1000; ++instance) {
    const std::int32_t n = draw(random, 1, 10);
    const SymmetricMatrix a = random_spd(random, n);
    Vector b(n), x(n), scratch(3 * n);
    for (double& value : b) value = draw(random, -9, 9);
    for (double& value : x) value = draw(random, -9, 9);
    if (draw(random, 0, 9) == 0) x[0] = kNaN;
    const int kind = draw(random, 0, 4);
    const auto nonsense = [&](std::span<double> r) {
      for (double& value : r)
        value = kind == 0 ? kNaN : kind == 1 ? kInfinity : draw(random, -9, 9) / 8.;
    };
    const Vector start = x;
    const double before = error_of(a, x, b);
    const int most = draw(random, 0, 5);
    const Refinement result = refine(a, b, x, scratch, nonsense, most);
    ASSERT_LE(result.backward_error, before) << describe(a);
    ASSERT_LE(result.steps, most);
    ASSERT_EQ(error_of(a, x, b), result.backward_error) << describe(a);
    if (result.steps == 0 && before != kInfinity) {
      ASSERT_EQ(x, start) << describe(a);
    }
  }
}

TEST(Refine, TakesASystemOfOrderZero) {
  SymmetricMatrix none;
  none.column_start = {0};
  const Refinement result = refine(none, {}, {}, {}, [](std::span<double>) {});
  EXPECT_EQ(result.backward_error, 0);
  EXPECT_EQ(result.steps, 0);
}

}  // namespace
}  // namespace espalier::solver
