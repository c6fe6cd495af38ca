#include "solver/refine/refine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "solver/support/square_systems.h"

namespace espalier::solver {
namespace TEST_SOURCE {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kRoundoff = std::numeric_limits<double>::epsilon() / 2;
using Vector = std::vector<double>;

//   4 2 .
//   2 5 1
//   . 1 3
SquareMatrix example() {
  return {{3, {0, 2, 4, 5}, {0, 1, 1, 2, 2}, {4, 2, 5, 1, 3}}, {}};
}

double worst_error(const SquareMatrix& a, Operation operation, const Vector& x,
                   const Vector& b) {
  const auto n = static_cast<std::size_t>(a.size());
  ErrorMeasure measure(a, operation);
  Vector r(n);
  double worst = 0;
  for (std::size_t at = 0; n > 0 && at < x.size(); at += n)
    worst = std::max(
        worst,
        measure(std::span(x).subspan(at, n), std::span(b).subspan(at, n), r).total());
  return worst;
}

Operation random_operation(std::mt19937& random) {
  return draw(random, 0, 1) ? Operation::kPlain : Operation::kTransposed;
}

TEST(Refine, LeavesAnExactSolutionAlone) {
  Vector x{1, 2, 3};
  const Vector b{8, 15, 11};
  const Refinement result = refine(
      example(), b, x, 1,
      [](std::span<double>, std::int32_t) { FAIL() << "nothing is to be solved"; });
  EXPECT_EQ(result.steps, 0);
  EXPECT_EQ(result.backward_error, 0);
  EXPECT_EQ(x, (Vector{1, 2, 3}));
}

TEST(Refine, CorrectsByASolverThatIsALittleWrong) {
  std::mt19937 random(8);
  for (int instance = 0; instance < 300; ++instance) {
    const std::int32_t n = draw(random, 1, 25), nrhs = draw(random, 1, 4);
    const SquareMatrix a = random_dominant(random, n);
    const Operation operation = random_operation(random);
    const Dense inverse = inverse_of(dense_of(a, operation));
    const auto solve = [&](std::span<double> block, std::int32_t count) {
      ASSERT_EQ(std::ssize(block), n * count);
      apply<double>(inverse, block);
      for (double& each : block) each *= 1 + 1e-5;
    };
    const Vector b = random_vector(random, n * nrhs);
    Vector x = b;
    solve(x, nrhs);
    const double before = worst_error(a, operation, x, b);
    const Refinement result = refine(a, b, x, nrhs, solve, {.operation = operation});
    ASSERT_LE(result.backward_error, 4e-16) << describe(a);
    ASSERT_EQ(result.backward_error, worst_error(a, operation, x, b)) << describe(a);
    ASSERT_EQ(result.gmres_steps, 0) << describe(a);
    if (before > 1e-12) {
      ASSERT_GT(result.steps, 0) << describe(a);
    }
  }
}

TEST(Refine, TreatsEachColumnAsThoughItWereAlone) {
  std::mt19937 random(10);
  Vector space(16);  // has what an earlier block left
  for (int instance = 0; instance < 200; ++instance) {
    const std::int32_t n = draw(random, 1, 15), nrhs = draw(random, 0, 5);
    const SquareMatrix a = random_square(random, n);
    const Dense inverse = inverse_of(dense_of(a, Operation::kPlain));
    if (inverse.size() == 0) continue;
    int solved = 0;
    const auto solve = [&](std::span<double> block, std::int32_t count) {
      apply<float>(inverse, block);
      solved += count;
    };
    const Vector b = random_vector(random, n * nrhs);
    Vector together = b, alone = b;
    const Refinement all = refine(a, b, together, nrhs, solve);
    const int solved_together = std::exchange(solved, 0);
    Refinement each;
    for (std::int32_t c = 0; c < nrhs; ++c) {
      const auto part = std::span(alone).subspan(c * n, n);
      const Refinement one =
          refine(a, std::span(b).subspan(c * n, n), part, 1, solve, {}, &space);
      ASSERT_EQ(space.capacity(), 16U);
      each.backward_error = std::max(each.backward_error, one.backward_error);
      each.steps = std::max(each.steps, one.steps);
      each.gmres_steps += one.gmres_steps;
    }
    ASSERT_EQ(together, alone) << describe(a);
    ASSERT_EQ(all.backward_error, each.backward_error) << describe(a);
    ASSERT_EQ(all.steps, each.steps) << describe(a);
    ASSERT_EQ(all.gmres_steps, each.gmres_steps) << describe(a);
    ASSERT_EQ(solved, solved_together) << "a column that has ended is not solved for";
  }
}

TEST(Refine, NeverReturnsAWorseSolution) {
  std::mt19937 random(9);
  for (int instance = 0; instance < 1000; ++instance) {
    const std::int32_t n = draw(random, 1, 10), nrhs = draw(random, 1, 3);
    const SquareMatrix a = random_square(random, n);
    const Vector b = random_vector(random, n * nrhs);
    Vector x = random_vector(random, n * nrhs);
    if (draw(random, 0, 9) == 0) x[0] = kNaN;
    const int kind = draw(random, 0, 4);
    const auto nonsense = [&](std::span<double> block, std::int32_t) {
      for (double& value : block)
        value = kind == 0   ? kNaN
                : kind == 1 ? kInfinity
                : kind == 2 ? 0
                            : draw(random, -9, 9) / 8.;
    };
    const RefineOptions options{.operation = random_operation(random),
                                .max_steps = draw(random, 0, 5),
                                .gmres_basis = draw(random, 0, 6)};
    const Vector start = x;
    const double before = worst_error(a, options.operation, x, b);
    const Refinement result = refine(a, b, x, nrhs, nonsense, options);
    ASSERT_LE(result.backward_error, before) << describe(a);
    ASSERT_LE(result.steps, options.max_steps);
    ASSERT_LE(result.gmres_steps, nrhs * options.gmres_basis * options.gmres_cycles);
    ASSERT_EQ(worst_error(a, options.operation, x, b), result.backward_error)
        << describe(a);
    if (result.steps + result.gmres_steps == 0 && before != kInfinity) {
      ASSERT_EQ(x, start) << describe(a);
    }
  }
}

// The factors of A + a matrix of rank p: plain refinement diverges or stagnates, and
// GMRES meets an operator with p + 1 different eigenvalues at most.
TEST(Refine, OvercomesPerturbedPivotsByGmres) {
  std::mt19937 random(11);
  int plain_failed = 0;
  for (int instance = 0; instance < 200; ++instance) {
    const std::int32_t n = draw(random, 5, 40), perturbed = draw(random, 1, 4);
    const SquareMatrix a = random_dominant(random, n);
    const RefineOptions options{.operation = random_operation(random)};
    Dense other = dense_of(a, options.operation);
    for (std::int32_t k = 0; k < perturbed; ++k) {
      const std::int32_t i = draw(random, 0, n - 1);
      other(i, i) = -0.3L * other(i, i);
    }
    const Dense inverse = inverse_of(other);
    const auto solve = [&](std::span<double> block, std::int32_t) {
      apply<double>(inverse, block);
    };
    const Vector b = random_vector(random, n);
    Vector x = b, by_gmres = b;
    solve(x, 1);
    solve(by_gmres, 1);
    RefineOptions plainly = options;
    plainly.gmres_basis = 0;
    plain_failed += refine(a, b, x, 1, solve, plainly).backward_error > 1e-12;
    const Refinement result = refine(a, b, by_gmres, 1, solve, options);
    ASSERT_LE(result.backward_error, 1e-14) << perturbed << " " << describe(a);
    ASSERT_LE(result.gmres_steps, 4 * (perturbed + 2)) << describe(a);
  }
  EXPECT_GT(plain_failed, 100);
}

// Symmetric, eigenvalues graded from 1 to 1 / condition, dense.
SquareMatrix graded(std::mt19937& random, std::int32_t n, double condition) {
  std::normal_distribution<long double> normal;
  Dense q(n);  // Gram-Schmidt of a random matrix
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int32_t i = 0; i < n; ++i) q(i, j) = normal(random);
    for (std::int32_t k = 0; k <= j; ++k) {
      long double sum = 0;
      for (std::int32_t i = 0; i < n; ++i) sum += q(i, k) * q(i, j);
      for (std::int32_t i = 0; i < n; ++i)
        q(i, j) = k < j ? q(i, j) - sum * q(i, k) : q(i, j) / std::sqrt(sum);
    }
  }
  SquareMatrix a{{n, {0}, {}, {}}, {}};
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int32_t i = j; i < n; ++i) {
      long double sum = 0;
      for (std::int32_t k = 0; k < n; ++k)
        sum += q(i, k) * q(j, k) * std::pow(condition, -static_cast<double>(k) / (n - 1));
      a.lower.row.push_back(i);
      a.lower.value.push_back(static_cast<double>(sum));
    }
    a.lower.column_start.push_back(std::ssize(a.lower.row));
  }
  return a;
}

// A factorisation in single precision of matrices beyond its reach.
TEST(Refine, ReachesDoublePrecisionFromSingle) {
  std::mt19937 random(12);
  int by_gmres = 0;
  for (const double condition : {1e2, 1e4, 1e6, 1e7, 1e8, 1e9})
    for (int instance = 0; instance < 20; ++instance) {
      const std::int32_t n = draw(random, 10, 40);
      const SquareMatrix a = graded(random, n, condition);
      Dense rounded = dense_of(a, Operation::kPlain);
      for (std::int32_t j = 0; j < n; ++j)
        for (std::int32_t i = 0; i < n; ++i)
          rounded(i, j) = static_cast<float>(rounded(i, j));
      const Dense inverse = inverse_of(rounded);
      ASSERT_EQ(inverse.size(), n);
      const auto solve = [&](std::span<double> block, std::int32_t) {
        apply<float>(inverse, block);
      };
      const Vector b = random_vector(random, 2 * n);
      Vector x = b;
      solve(x, 2);
      const Refinement result = refine(a, b, x, 2, solve);
      ASSERT_LE(result.backward_error, 1e-14) << "condition " << condition << " order "
                                              << n << " gmres " << result.gmres_steps;
      by_gmres += result.gmres_steps > 0;
    }
  EXPECT_GT(by_gmres, 10);
}

// A matrix on the diagonal, solved for with errors that differ from vector to vector:
// some end at once, others after up to four steps, one starts as no number.
TEST(Refine, HasTheSameBitsOnAnyNumberOfThreads) {
  constexpr std::int32_t n = 4000, nrhs = 40;
  std::mt19937 random(5);
  SquareMatrix a{{n, {0}, {}, {}}, {}};
  for (std::int32_t j = 0; j < n; ++j) {
    a.lower.row.push_back(j);
    a.lower.value.push_back(1 + draw(random, 0, 1000) / 7.0);
    a.lower.column_start.push_back(j + 1);
  }
  const auto wrong_by = [](std::size_t c) {
    return c % 5 == 0 ? 0 : std::pow(10.0, -2.0 - 3.0 * static_cast<double>(c % 5));
  };
  const Vector b = random_vector(random, n * nrhs);
  const auto refined = [&](std::int32_t threads) {
    Vector x(b.size());
    for (std::size_t k = 0; k < b.size(); ++k)
      x[k] = b[k] / a.lower.value[k % n] * (1 + wrong_by(k / n));
    x[7 * n + 3] = kNaN;
    std::vector<std::int32_t> counts;
    const auto solve = [&](std::span<double> block, std::int32_t count) {
      counts.push_back(count);
      for (std::size_t k = 0; k < block.size(); ++k)
        block[k] = block[k] / a.lower.value[k % n] * (1 + 1e-5);
    };
    const Refinement result = refine(a, b, x, nrhs, solve, {.threads = threads});
    EXPECT_LE(result.backward_error, 4e-16);
    return std::tuple(x, counts, result.steps, result.backward_error);
  };
  const auto alone = refined(1);
  EXPECT_GT(std::get<1>(alone).size(), 1U);
  EXPECT_LT(std::get<1>(alone).back(), std::get<1>(alone).front());
  for (const std::int32_t threads : {2, 3, 64}) EXPECT_EQ(refined(threads), alone);
}

TEST(Refine, TakesASystemOfOrderZeroAndNoColumns) {
  SquareMatrix none;
  none.lower.column_start = {0};
  const auto solve = [](std::span<double>, std::int32_t) { FAIL(); };
  for (const std::int32_t nrhs : {0, 1, 3}) {
    const Refinement result = refine(none, {}, {}, nrhs, solve);
    EXPECT_EQ(result.backward_error, 0);
    EXPECT_EQ(result.steps, 0);
  }
  EXPECT_EQ(refine(example(), {}, {}, 0, solve).backward_error, 0);
}

TEST(Refine, StatesItsMemory) {
  const Bytes vector = 8 * 1'000'000;
  const auto near = [&](Bytes bytes, Bytes vectors) {
    EXPECT_GE(bytes, vectors * vector);
    EXPECT_LE(bytes, vectors * vector + 16'384);
  };
  near(refinement_bytes(1'000'000, 1, {.gmres_basis = 0}), 4);
  near(refinement_bytes(1'000'000, 8, {.gmres_basis = 0}), 11);
  near(refinement_bytes(1'000'000, 8, {.gmres_basis = 0, .threads = 3}), 8 + 9);
  near(refinement_bytes(1'000'000, 2, {.gmres_basis = 0, .threads = 3}), 2 + 6);
  near(refinement_bytes(1'000'000, 8), 11 + 61);
  near(refinement_bytes(1'000'000, 1, {.gmres_basis = 0}, 1'000'000), 4 + 2);
  EXPECT_GT(refinement_bytes(2'000'000'000, 1'000'000), Bytes{1} << 53);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
