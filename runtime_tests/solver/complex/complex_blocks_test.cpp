// Complex matrices that are solved in block triangular form, in every way in which real
// ones are: over 300 lines.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "solver/complex/complex_solving.h"
#include "solver/support/temporary_file.h"

namespace espalier::solver {
namespace TEST_SOURCE {

const BlockForm& form_of(ComplexSolver& solver) {
  return solver.solver().analysis().form;
}

Complex drawn_unit(std::mt19937& random) {
  return std::polar(1.0, std::uniform_real_distribution(0.0, 6.28)(random));
}

std::vector<std::int32_t> shuffled(std::mt19937& random, std::int32_t size) {
  std::vector<std::int32_t> place(static_cast<std::size_t>(size));
  std::iota(place.begin(), place.end(), 0);
  std::ranges::shuffle(place, random);
  return place;
}

// Blocks of one to four, irreducible, with entries above them, under two permutations.
struct Instance {
  ComplexMatrix a;
  std::int32_t blocks = 0;
};

Instance drawn_blocks(std::mt19937& random, std::int32_t size) {
  const std::vector<std::int32_t> row = shuffled(random, size);
  const std::vector<std::int32_t> column = shuffled(random, size);
  Instance instance;
  Entries entries;
  for (std::int32_t first = 0; first < size; ++instance.blocks) {
    const std::int32_t end = std::min(size, first + drawn(random, 1, 4));
    for (std::int32_t i = first; i < end; ++i) {
      entries[{column[i], row[i]}] = 3.0 * drawn_unit(random);
      if (end - first > 1)
        entries[{column[i + 1 < end ? i + 1 : first], row[i]}] = drawn_unit(random);
      for (std::int32_t k = end < size ? drawn(random, 0, 3) : 0; k > 0; --k)
        entries[{column[drawn(random, end, size - 1)], row[i]}] = drawn_value(random);
    }
    first = end;
  }
  instance.a = made_of(ComplexSymmetry::kGeneral, size, entries);
  return instance;
}

// Complex symmetric: pairs of a row and a column, and a core, in any order.
ComplexMatrix drawn_pairs(std::mt19937& random, std::int32_t pairs, std::int32_t core) {
  const std::int32_t n = 2 * pairs + core;
  const std::vector<std::int32_t> place = shuffled(random, n);
  Entries entries;
  const auto put = [&](std::int32_t i, std::int32_t j, Complex value) {
    entries[std::minmax(place[i], place[j])] = value;
  };
  for (std::int32_t k = 0; k < pairs; ++k) {
    put(k, pairs + k, drawn_unit(random));  // rows are the first, columns the next
    if (k > 0) put(k, pairs + drawn(random, 0, k - 1), 0.5 * drawn_unit(random));
    put(pairs + k, pairs + drawn(random, 0, pairs - 1), drawn_unit(random));
    if (core > 0) put(pairs + k, 2 * pairs + drawn(random, 0, core - 1), kI);
  }
  for (std::int32_t i = 2 * pairs; i < n; ++i) put(i, i, 4.0 * drawn_unit(random));
  return made_of(ComplexSymmetry::kSymmetric, n, entries);
}

void expect_solves(ComplexSolver& solver, const ComplexMatrix& a, std::mt19937& random,
                   double tolerance) {
  const auto n = static_cast<std::size_t>(a.size);
  for (const ComplexOperation operation : kOperations) {
    const std::vector<Complex> b = drawn_vector(random, 2 * n);
    std::vector<Complex> x = b;
    const Solution solution = solver.solve(x, 2, operation);
    EXPECT_FALSE(solution.doubts.any());
    EXPECT_LE(solution.refinement.backward_error, 1e-14);
    for (std::size_t v = 0; v < 2 * n; v += n)
      EXPECT_LE(difference(std::span(x).subspan(v, n),
                           dense_solution(a, operation, std::span(b).subspan(v, n))),
                tolerance);
  }
}

// 2 i x + y = 3 i,  (1 + i) y + 3 z = 2 + 4 i,  -i z = 1 - i: x = 1, y = i, z = 1 + i.
TEST(ComplexBlocks, AreSubstitutedAsByHand) {
  const ComplexMatrix a = made_of(ComplexSymmetry::kGeneral, 3,
                                  {{{0, 0}, 2.0 * kI},
                                   {{1, 0}, 1.0},
                                   {{1, 1}, 1.0 + kI},
                                   {{2, 1}, 3.0},
                                   {{2, 2}, -kI}});
  ComplexSolver solver{ComplexMatrix(a), alone()};
  ASSERT_EQ(form_of(solver).blocks.size(), 3U);
  EXPECT_EQ(form_of(solver).coupling.row.size(), 2U);
  factor(solver);
  std::vector<Complex> x = {3.0 * kI, 2.0 + 4.0 * kI, 1.0 - kI};
  static_cast<void>(solver.solve(x));
  EXPECT_LE(difference(x, std::vector<Complex>{1, kI, 1.0 + kI}), 1e-15);
  // x^H A = b^H: of A^H x = b the first row is -2 i x = -2 i, the second x + (1 - i) y.
  x = {-2.0 * kI, 1.0 + (1.0 - kI) * kI, 3.0 * kI + kI * (1.0 + kI)};
  static_cast<void>(solver.solve(x, 1, ComplexOperation::kConjugateTransposed));
  EXPECT_LE(difference(x, std::vector<Complex>{1, kI, 1.0 + kI}), 1e-15);
  const ComplexDeterminant determinant = solver.determinant();  // 2 + 2 i
  EXPECT_NEAR(determinant.modulus.log_modulus(), std::log(std::sqrt(8.0)), 1e-15);
  EXPECT_NEAR(determinant.argument, std::numbers::pi / 4, 1e-15);
}

TEST(ComplexBlocks, SolveAsDenseEliminationAndTheRealFormDo) {
  std::mt19937 random(177);
  int reducible = 0;
  for (int turn = 0; turn < 60; ++turn)
    for (const Precision precision : {Precision::kDouble, Precision::kSingle}) {
      const Instance instance = drawn_blocks(random, 2 + turn / 2);
      SCOPED_TRACE(fmt::format("order {}, instance {}", instance.a.size, turn));
      SolverOptions options = alone();
      options.precision = precision;
      if (turn % 20 == 0) options.runtime_flops = 0;
      ComplexSolver solver(ComplexMatrix(instance.a), options);
      ASSERT_EQ(solver.solver().kind(), FactorKind::kLu);
      if (form_of(solver).empty()) continue;  // no entries were drawn between the blocks
      ++reducible;
      ASSERT_EQ(std::ssize(form_of(solver).blocks), instance.blocks);
      for (const bool bounded : {false, true}) {
        factor(solver,
               bounded ? std::optional(solver.solver().memory().needed()) : std::nullopt);
        expect_solves(solver, instance.a, random, 1e-11);
      }
      std::vector<Complex> x =
          drawn_vector(random, static_cast<std::size_t>(instance.a.size));
      const std::vector<Complex> expected = solution_of_real_form(instance.a, x);
      static_cast<void>(solver.solve(x));
      EXPECT_LE(difference(x, expected), 1e-12);
    }
  EXPECT_GT(reducible, 100);
}

// What is estimated knows of the entries between blocks.
TEST(ComplexBlocks, AreInTheEstimates) {
  std::mt19937 random(178);
  SolverOptions options = alone(), together = alone();
  options.estimate_errors = together.estimate_errors = true;
  together.prepare.block_triangular = false;
  for (int turn = 0; turn < 10; ++turn) {
    const Instance instance = drawn_blocks(random, 20);
    ComplexSolver solver(ComplexMatrix(instance.a), options);
    ComplexSolver whole(ComplexMatrix(instance.a), together);
    ASSERT_TRUE(form_of(whole).empty());
    factor(solver);
    factor(whole);
    const std::vector<Complex> b = drawn_vector(random, 20);
    std::vector<Complex> x = b, y = b;
    const auto found = solver.solve(x).errors, expected = whole.solve(y).errors;
    ASSERT_TRUE(found && expected);
    EXPECT_NEAR(found->condition_1norm / expected->condition_1norm, 1, 0.5);
    EXPECT_GE(found->forward_error_bound,
              difference(x, dense_solution(instance.a, ComplexOperation::kPlain, b)) / 2);
  }
}

TEST(ComplexBlocks, TakeNewValuesAndAreKeptInFiles) {
  std::mt19937 random(179);
  for (const bool symmetric : {false, true}) {
    ComplexMatrix a = symmetric ? drawn_pairs(random, 12, 6) : drawn_blocks(random, 30).a;
    const TemporaryFile file(".factor");
    ComplexSolver solver{ComplexMatrix(a), alone()};
    ASSERT_FALSE(form_of(solver).empty());
    for (Complex& value : a.value) value *= 1.0 + 0.1 * drawn_unit(random);
    solver.replace_values(ComplexMatrix(a));
    factor(solver);
    expect_solves(solver, a, random, 1e-9);
    solver.solver().save(file.path());
    ComplexSolver loaded(Solver::load(file.path(), alone()));
    EXPECT_EQ(form_of(loaded).coupling.imaginary, form_of(solver).coupling.imaginary);
    expect_solves(loaded, a, random, 1e-9);
    factor(loaded);
    expect_solves(loaded, a, random, 1e-9);
    ComplexMatrix outside = random_complex(random, a.symmetry, a.size, 3);
    EXPECT_THROW(solver.replace_values(std::move(outside)), InvalidInput);
  }
}

// Substitution before L D L^T: pairs of rows of a complex symmetric matrix.
TEST(ComplexBlocks, ArePairsOfComplexSymmetricMatrices) {
  std::mt19937 random(180);
  for (int turn = 0; turn < 40; ++turn) {
    const ComplexMatrix a = drawn_pairs(random, 1 + turn % 12, turn % 7);
    SCOPED_TRACE(fmt::format("order {}, instance {}", a.size, turn));
    ComplexSolver solver{ComplexMatrix(a), alone()};
    ASSERT_EQ(solver.solver().kind(), FactorKind::kLdlt);
    ASSERT_FALSE(form_of(solver).empty());
    EXPECT_EQ(factor(solver).pivots.negative, 0);
    expect_solves(solver, a, random, 1e-9);
    expect_determinant(solver, a);
  }
}

// Rows of a Hermitian matrix that were exchanged would have diagonals that are not real.
TEST(ComplexBlocks, AreNotLookedForInHermitianMatrices) {
  const ComplexMatrix a =
      made_of(ComplexSymmetry::kHermitian, 2, {{{0, 1}, 2.0 * kI}, {{1, 1}, 1.0}});
  ComplexSolver solver{ComplexMatrix(a), alone()};
  EXPECT_TRUE(form_of(solver).empty());
  EXPECT_EQ(factor(solver).pivots.negative, 1);
  std::mt19937 random(181);
  expect_solves(solver, a, random, 1e-14);
}

TEST(ComplexBlocks, FillNothingInTriangles) {
  constexpr std::int32_t kSize = 20'000;
  std::mt19937 random(182);
  Entries entries;
  for (std::int32_t i = 0; i < kSize; ++i) {
    entries[{i, i}] = 2.0 * kI;
    for (int k = 0; k < 4 && i > 0; ++k) entries[{drawn(random, 0, i - 1), i}] = 0.2;
  }
  ComplexSolver solver(made_of(ComplexSymmetry::kGeneral, kSize, entries), alone());
  EXPECT_EQ(solver.solver().analysis().symbolic.factor_entries, kSize);
  factor(solver, solver.solver().memory().needed());
  for (const ComplexOperation operation : kOperations) {
    std::vector<Complex> x = solver.apply_to_ones(operation);
    EXPECT_FALSE(solver.solve(x, 1, operation).doubts.any());
    EXPECT_LE(difference(x, std::vector<Complex>(x.size(), 1.0)), 1e-9);
  }
}

// As when a bound asks for another order: (0, 1) and (2, 1) go to (2, 0) and (1, 0).
TEST(ComplexBlocks, KeepTheirCouplingInAnotherOrder) {
  Coupling coupling;
  coupling.size = 3;
  coupling.column_start = {0, 0, 2, 2};
  coupling.row = {0, 2};
  coupling.value = {4, 5};
  coupling.imaginary = {6, 7};
  const Coupling moved =
      permuted(std::move(coupling), std::vector<std::int32_t>{1, 2, 0});
  EXPECT_EQ(moved.size, 3);
  EXPECT_EQ(moved.column_start, (std::vector<std::int64_t>{0, 2, 2, 2}));
  EXPECT_EQ(moved.row, (std::vector<std::int32_t>{1, 2}));
  EXPECT_EQ(moved.entry<Complex>(0), Complex(5, 7));
  EXPECT_EQ(moved.entry<Complex>(1), Complex(4, 6));
}

// The second block is i times (1, i) once and twice.
const Entries kSingular = {{{0, 0}, 3.0},      {{1, 1}, kI},   {{2, 1}, -1.0},
                           {{1, 2}, 2.0 * kI}, {{2, 2}, -2.0}, {{1, 0}, 1.0 + kI},
                           {{2, 0}, -kI}};

TEST(ComplexBlocks, AreDoubtedWhereTheyAreSingular) {
  const Entries structurally = {
      {{0, 0}, kI}, {{1, 0}, 1.0}, {{2, 0}, 1.0}, {{2, 1}, kI}, {{2, 2}, 3.0}};
  for (const Entries& entries : {kSingular, structurally})
    for (const bool bounded : {false, true}) {
      ComplexSolver solver(made_of(ComplexSymmetry::kGeneral, 3, entries), alone());
      factor(solver,
             bounded ? std::optional(solver.solver().memory().least()) : std::nullopt);
      EXPECT_TRUE(solver.solver().singular());
      std::vector<Complex> x(3, 1.0);
      EXPECT_TRUE(solver.solve(x).doubts.singular);
    }
}

// Factors a matrix in blocks, one of which is singular, and finds a solution that exists.
void expect_joined(ComplexSolver& solver, const ComplexMatrix& a) {
  ASSERT_FALSE(form_of(solver).empty());
  factor(solver);
  EXPECT_TRUE(form_of(solver).empty());
  EXPECT_EQ(solver.solver().null_space(), 1);
  const std::vector<Complex> b = solver.apply_to_ones();
  std::vector<Complex> x = b;
  static_cast<void>(solver.solve(x));
  EXPECT_LE(ComplexErrorMeasure(a)(ComplexOperation::kPlain, x, b), 1e-14);
}

// A solution that exists is found where there is room to factor all at once.
TEST(ComplexBlocks, AreJoinedWhereTheyAreSingular) {
  const ComplexMatrix a = made_of(ComplexSymmetry::kGeneral, 3, kSingular);
  ComplexSolver solver{ComplexMatrix(a), alone()};
  expect_joined(solver, a);
  ComplexErrorMeasure measure(a);
  const std::vector<Complex> null = solver.null_space_basis();
  ASSERT_EQ(null.size(), 3U);
  std::vector<Complex> zero(3);
  measure.multiply(ComplexOperation::kPlain, null, zero);
  EXPECT_LE(largest(zero), 1e-14);
}

// The same of pairs: the core of order 2 is singular.
TEST(ComplexBlocks, OfPairsAreJoinedWhereTheyAreSingular) {
  const ComplexMatrix a = made_of(ComplexSymmetry::kSymmetric, 4,
                                  {{{0, 1}, kI},
                                   {{1, 1}, 2.0},
                                   {{1, 2}, 1.0 - kI},
                                   {{2, 2}, kI},
                                   {{2, 3}, 2.0 * kI},
                                   {{3, 3}, 4.0 * kI}});
  ComplexSolver solver{ComplexMatrix(a), alone()};
  expect_joined(solver, a);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
