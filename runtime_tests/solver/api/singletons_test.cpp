// Symmetric systems in which unknowns are found by substitution, through the solver.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "solver/api/solver.h"
#include "solver/support/temporary_file.h"

namespace espalier::solver {
namespace TEST_SOURCE {

using Dense = std::vector<std::vector<double>>;

SymmetricMatrix lower_of(const Dense& a) {
  SymmetricMatrix matrix{.size = static_cast<std::int32_t>(a.size()),
                         .column_start = {0},
                         .row = {},
                         .value = {}};
  for (std::int32_t j = 0; j < matrix.size; ++j) {
    for (std::int32_t i = j; i < matrix.size; ++i)
      if (a[i][j] != 0) {
        matrix.row.push_back(i);
        matrix.value.push_back(a[i][j]);
      }
    matrix.column_start.push_back(std::ssize(matrix.row));
  }
  return matrix;
}

double draw(std::mt19937& random) {
  const double size = std::uniform_real_distribution(0.5, 2.0)(random);
  return random() % 2 == 0 ? size : -size;
}

// `pairs` pairs of a row and a column, and an indefinite core, in any order.
Dense draw_instance(std::mt19937& random, std::size_t pairs, std::size_t core) {
  const std::size_t n = 2 * pairs + core;
  std::vector<std::size_t> place(n);
  std::iota(place.begin(), place.end(), std::size_t{0});
  std::shuffle(place.begin(), place.end(), random);
  Dense a(n, std::vector<double>(n, 0.0));
  const auto put = [&](std::size_t i, std::size_t j, double value) {
    a[place[i]][place[j]] = a[place[j]][place[i]] = value;
  };
  for (std::size_t k = 0; k < pairs; ++k) {
    put(k, pairs + k, draw(random));  // rows are the first, columns the next
    if (k > 0 && random() % 2 == 0) put(k, pairs + random() % k, 0.5 * draw(random));
    if (random() % 2 == 0) put(pairs + k, pairs + random() % pairs, draw(random));
    if (core > 0) put(pairs + k, 2 * pairs + random() % core, draw(random));
  }
  for (std::size_t i = 2 * pairs; i < n; ++i) {
    put(i, i, 4 * draw(random));
    put(i, 2 * pairs + random() % core, 4 * draw(random));
  }
  return a;
}

double relative_residual(const Dense& a, std::span<const double> x,
                         std::span<const double> b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    long double r = b[i], size = std::abs(b[i]);
    for (std::size_t j = 0; j < a.size(); ++j) {
      r -= static_cast<long double>(a[i][j]) * x[j];
      size += std::abs(static_cast<long double>(a[i][j]) * x[j]);
    }
    if (r != 0) worst = std::max(worst, static_cast<double>(std::abs(r) / size));
  }
  return worst;
}

void expect_solves(Solver& solver, const Dense& a, std::mt19937& random) {
  for (const Operation operation : {Operation::kPlain, Operation::kTransposed}) {
    std::vector<double> x(2 * a.size());
    for (double& each : x) each = draw(random);
    const std::vector<double> b = x;
    const Solution solution = solver.solve(x, 2, operation);
    EXPECT_FALSE(solution.doubts.any());
    for (std::size_t v = 0; v < x.size(); v += a.size())
      EXPECT_LE(relative_residual(a, std::span(x).subspan(v, a.size()),
                                  std::span(b).subspan(v, a.size())),
                1e-13);
  }
}

SolverOptions options_for(Precision precision, bool substitutes) {
  SolverOptions options;
  options.kind = FactorKind::kLdlt;
  options.precision = precision;
  options.prepare.block_triangular = substitutes;
  return options;
}

// Solutions; inertia and determinant are those of a factorisation of the whole.
TEST(Singletons, SolveAsTheWholeMatrixDoes) {
  std::mt19937 random(143);
  for (int turn = 0; turn < 80; ++turn)
    for (const Precision precision : {Precision::kDouble, Precision::kSingle}) {
      const Dense a = draw_instance(random, 1 + turn % 12, turn % 7);
      SCOPED_TRACE(fmt::format("order {}, instance {}", a.size(), turn));
      SolverOptions options = options_for(precision, true);
      if (turn % 20 == 0) options.runtime_flops = 0;
      Solver solver(lower_of(a), options);
      Solver whole(lower_of(a), options_for(precision, false));
      ASSERT_TRUE(whole.plan(std::nullopt));
      const auto expected = whole.factorise();
      ASSERT_TRUE(expected);
      for (const bool bounded : {false, true}) {
        ASSERT_TRUE(solver.plan(bounded ? std::optional(solver.memory().needed())
                                        : std::nullopt));
        const auto run = solver.factorise();
        ASSERT_TRUE(run);
        EXPECT_EQ(run->pivots.negative, expected->pivots.negative);
        const Determinant one = solver.determinant(), other = whole.determinant();
        EXPECT_NEAR(
            std::ldexp(one.mantissa, static_cast<int>(one.exponent - other.exponent)),
            other.mantissa,
            (precision == Precision::kDouble ? 1e-10 : 1e-4) * std::abs(other.mantissa));
        expect_solves(solver, a, random);
      }
    }
}

TEST(Singletons, MakeNoFill) {
  std::mt19937 random(144);
  const Dense a = draw_instance(random, 100, 0);
  Solver solver(lower_of(a), options_for(Precision::kDouble, true));
  EXPECT_EQ(solver.analysis().symbolic.factor_entries, 200);
}

TEST(Singletons, TakeNewValuesAndKeepThemInFiles) {
  std::mt19937 random(145);
  Dense a = draw_instance(random, 12, 9);
  const TemporaryFile file;
  Solver solver(lower_of(a), options_for(Precision::kDouble, true));
  ASSERT_FALSE(solver.analysis().form.empty());
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j)
      a[i][j] = a[j][i] = a[i][j] * (1 + 0.1 * static_cast<double>(random() % 7));
  solver.replace_values(lower_of(a));
  ASSERT_TRUE(solver.plan(std::nullopt));
  ASSERT_TRUE(solver.factorise());
  expect_solves(solver, a, random);
  solver.save(file.path());
  const auto loaded = Solver::load(file.path());
  expect_solves(*loaded, a, random);
  EXPECT_EQ(loaded->determinant().mantissa, solver.determinant().mantissa);
}

// The core is singular: a solution exists, and is found where there is room for all.
TEST(Singletons, FindSolutionsOfSingularMatrices) {
  std::mt19937 random(146);
  for (int turn = 0; turn < 20; ++turn) {
    Dense a = draw_instance(random, 3 + turn % 5, 2);
    const std::size_t n = a.size();
    std::vector<std::size_t> core;  // the two that have an entry on the diagonal …
    for (std::size_t i = 0; i < n; ++i)
      if (std::abs(a[i][i]) >= 2) core.push_back(i);
    if (core.size() != 2) continue;  // … and are not columns of pairs
    a[core[0]][core[0]] = 1;
    a[core[1]][core[1]] = 4;
    a[core[0]][core[1]] = a[core[1]][core[0]] = 2;
    std::vector<double> ones(n, 1.0), b(n, 0.0);
    for (std::size_t i = 0; i < n; ++i)
      b[i] = std::accumulate(a[i].begin(), a[i].end(), 0.0);
    Solver solver(lower_of(a), options_for(Precision::kDouble, true));
    ASSERT_TRUE(solver.plan(std::nullopt));
    ASSERT_TRUE(solver.factorise());
    std::vector<double> x = b;
    const Solution solution = solver.solve(x);
    if (!solver.singular()) continue;  // rows of pairs may take a part of the core
    EXPECT_TRUE(solution.doubts.singular);
    EXPECT_LE(relative_residual(a, x, b), 1e-10) << turn;
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
