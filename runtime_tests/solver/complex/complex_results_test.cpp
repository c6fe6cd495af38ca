// What a factor of a complex matrix tells beside solutions.

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "solver/complex/complex_solving.h"
#include "solver/complex/complex_systems.h"

namespace espalier::solver {
namespace TEST_SOURCE {

TEST(ComplexSolver, TellsInertiaAndDeterminantOfHermitianMatrices) {
  std::mt19937 random(9);
  for (int instance = 0; instance < 30; ++instance) {
    const std::int32_t n = drawn(random, 1, 25);
    // The diagonal dominates: its signs are those of the eigenvalues.
    const ComplexMatrix a = random_complex(random, ComplexSymmetry::kHermitian, n, 40);
    std::int64_t negative = 0;
    for_each_entry(a, [&](std::int32_t i, std::int32_t j, Complex value) {
      negative += i == j && value.real() < 0;
    });
    ComplexSolver solver{ComplexMatrix(a), alone()};
    EXPECT_EQ(factor(solver).pivots.negative, negative);
    const ComplexDeterminant found = solver.determinant();
    std::vector<LongComplex> unused(static_cast<std::size_t>(n));
    LongComplex expected;
    ASSERT_TRUE(eliminate(ComplexDense(a), unused, expected));
    EXPECT_NEAR(found.modulus.log_modulus(),
                static_cast<double>(std::log(std::abs(expected))), 1e-10);
    EXPECT_EQ(found.argument, expected.real() < 0 ? std::numbers::pi : 0);
  }
}

TEST(ComplexSolver, TellsDeterminants) {
  std::mt19937 random(10);
  for (const ComplexSymmetry symmetry :
       {ComplexSymmetry::kGeneral, ComplexSymmetry::kSymmetric})
    for (int instance = 0; instance < 30; ++instance) {
      const std::int32_t n = drawn(random, 1, 25);
      const ComplexMatrix a = random_complex(random, symmetry, n, 3);
      ComplexSolver solver{ComplexMatrix(a), alone()};
      factor(solver);
      expect_determinant(solver, a);
    }
}

TEST(ComplexSolver, SaysThatAHermitianMatrixIsNotDefinite) {
  SolverOptions options = alone();
  options.kind = FactorKind::kCholesky;
  ComplexSolver solver(
      made_of(ComplexSymmetry::kHermitian, 3,
              {{{0, 0}, 2.0}, {{1, 1}, 1.0}, {{1, 2}, 3.0 * kI}, {{2, 2}, 1.0}}),
      options);
  ASSERT_TRUE(solver.solver().plan({}));
  const auto run = solver.solver().factorise();
  ASSERT_FALSE(run);
  EXPECT_GE(run.error().column, 1);
  EXPECT_LE(run.error().column, 2);
  // Unasked it goes on.
  options.kind.reset();
  ComplexSolver other(made_of(ComplexSymmetry::kHermitian, 2,
                              {{{0, 0}, 2.0}, {{0, 1}, 1.9 * kI}, {{1, 1}, 1.0}}),
                      options);
  const FactorReport report = factor(other);
  EXPECT_EQ(other.solver().kind(), FactorKind::kLdlt);
  EXPECT_EQ(report.pivots.negative, 1);
}

// A graph's Laplacian with phases on its edges that come from the vertices: singular,
// with the phases as its null vector.
ComplexMatrix gauged_laplacian(std::mt19937& random, std::int32_t n,
                               ComplexSymmetry symmetry, std::vector<Complex>& null) {
  constexpr Complex kUnits[] = {1, kI, -1, -kI};
  null.clear();
  for (std::int32_t i = 0; i < n; ++i) null.push_back(kUnits[drawn(random, 0, 3)]);
  Entries entries;
  for (std::int32_t i = 0; i < n; ++i) entries[{i, i}] = 0;
  for (std::int32_t i = 1; i < n; ++i) {
    const std::int32_t j = drawn(random, 0, i - 1);
    const double weight = drawn(random, 1, 4);
    entries[{i, i}] += weight;
    entries[{j, j}] += weight;
    entries[{j, i}] = -weight * null[i] * std::conj(null[j]);
    if (symmetry == ComplexSymmetry::kSymmetric) entries[{j, i}] = -weight * kI;
    if (symmetry == ComplexSymmetry::kGeneral)
      entries[{i, j}] = -weight * null[j] * std::conj(null[i]);
  }
  if (symmetry == ComplexSymmetry::kSymmetric) {  // i times a real Laplacian
    null.assign(null.size(), 1);
    for (std::int32_t i = 0; i < n; ++i) entries[{i, i}] *= kI;
  }
  if (symmetry == ComplexSymmetry::kGeneral)  // rows times i: no longer Hermitian
    for (auto& [place, value] : entries)
      if (place.second % 2 == 1) value *= kI;
  return made_of(symmetry, n, entries);
}

TEST(ComplexSolver, FindsNullVectors) {
  std::mt19937 random(11);
  for (const ComplexSymmetry symmetry : kSymmetries)
    for (int instance = 0; instance < 10; ++instance) {
      const std::int32_t n = drawn(random, 3, 30);
      std::vector<Complex> null;
      const ComplexMatrix a = gauged_laplacian(random, n, symmetry, null);
      ComplexSolver solver{ComplexMatrix(a), alone()};
      EXPECT_EQ(factor(solver).pivots.null_space, 1);
      EXPECT_EQ(solver.solver().null_space(), 1);
      EXPECT_TRUE(solver.solver().singular());
      EXPECT_EQ(solver.determinant().modulus.sign(), 0);
      for (const ComplexOperation operation : kOperations) {
        const std::vector<Complex> basis = solver.null_space_basis(operation);
        ASSERT_EQ(basis.size(), null.size());
        std::vector<Complex> product(basis.size());
        ComplexErrorMeasure(a).multiply(operation, basis, product);
        EXPECT_LE(largest(product), 1e-12);
        double length = 0;
        for (const Complex value : basis) length += std::norm(value);
        EXPECT_NEAR(length, 1, 1e-13);
      }
      std::vector<Complex> b(null.size(), 1.0);
      EXPECT_TRUE(solver.solve(b).doubts.singular);
    }
}

TEST(ComplexSolver, GivesSchurComplements) {
  std::mt19937 random(12);
  for (const ComplexSymmetry symmetry : kSymmetries)
    for (int instance = 0; instance < 10; ++instance) {
      const std::int32_t n = drawn(random, 4, 20);
      const ComplexMatrix a = random_complex(random, symmetry, n, 4);
      SolverOptions options = alone();
      options.schur = {n - 1, 1};
      ComplexSolver solver{ComplexMatrix(a), options};
      factor(solver);
      ASSERT_EQ(solver.solver().analysis().symbolic.kept(), 2);
      std::vector<Complex> block(4);
      solver.schur(block);
      // By columns of A_ii^-1 A_ik.
      ComplexDense dense(a);
      for (int column = 0; column < 2; ++column) {
        const std::int32_t k = options.schur[column];
        ComplexDense inner = dense;
        std::vector<LongComplex> x(static_cast<std::size_t>(n));
        for (std::int32_t i = 0; i < n; ++i) x[i] = dense(i, k);
        for (const std::int32_t kept : options.schur) {
          x[kept] = 0;
          for (std::int32_t i = 0; i < n; ++i) inner(i, kept) = inner(kept, i) = 0;
          inner(kept, kept) = 1;
        }
        LongComplex determinant;
        ASSERT_TRUE(eliminate(inner, x, determinant));
        for (int row = 0; row < 2; ++row) {
          const std::int32_t i = options.schur[row];
          LongComplex expected = dense(i, k);
          for (std::int32_t j = 0; j < n; ++j)
            if (j != options.schur[0] && j != options.schur[1])
              expected -= dense(i, j) * x[j];
          EXPECT_LE(std::abs(block[row + 2 * column] - Complex(expected)),
                    1e-10 * (1 + static_cast<double>(std::abs(dense(i, k)))))
              << instance << " " << int(symmetry);
        }
      }
    }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
