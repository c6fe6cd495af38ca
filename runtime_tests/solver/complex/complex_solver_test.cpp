#include "solver/complex/complex_solver.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "espalier/model/error.h"
#include "solver/complex/complex_solving.h"
#include "solver/complex/complex_systems.h"
#include "solver/support/temporary_file.h"

namespace espalier::solver {
namespace TEST_SOURCE {

TEST(ComplexSolver, SolvesByHand) {
  // (1 + i) x + y = 2 + i, -x + 2 i y = -1 + 2 i: x = y = 1.
  ComplexSolver solver(
      made_of(ComplexSymmetry::kGeneral, 2,
              {{{0, 0}, 1.0 + kI}, {{0, 1}, -1.0}, {{1, 0}, 1.0}, {{1, 1}, 2.0 * kI}}),
      alone());
  factor(solver);
  std::vector<Complex> b = {2.0 + kI, -1.0 + 2.0 * kI};
  const Solution solution = solver.solve(b);
  EXPECT_LE(difference(b, std::vector<Complex>{1, 1}), 1e-15);
  EXPECT_LE(solution.refinement.backward_error, 1e-15);
  EXPECT_FALSE(solution.doubts.any());
}

TEST(ComplexSolver, MatchesDenseEliminationForEverySymmetryAndOperation) {
  std::mt19937 random(5);
  for (const ComplexSymmetry symmetry : kSymmetries)
    for (int instance = 0; instance < 60; ++instance) {
      const std::int32_t n = drawn(random, 1, 40);
      const ComplexMatrix a = random_complex(random, symmetry, n, 4);
      SolverOptions options = alone();
      if (instance % 4 == 3) options.kind = FactorKind::kLu;
      if (instance % 3 == 1) options.precision = Precision::kSingle;
      ComplexSolver solver{ComplexMatrix(a), options};
      factor(solver);
      for (const ComplexOperation operation : kOperations) {
        const int nrhs = drawn(random, 1, 3);
        const std::size_t size = static_cast<std::size_t>(n);
        std::vector<Complex> b = drawn_vector(random, size * nrhs);
        const std::vector<Complex> given = b;
        const Solution solution = solver.solve(b, nrhs, operation);
        ASSERT_LE(solution.refinement.backward_error, 1e-14) << instance;
        for (int k = 0; k < nrhs; ++k) {
          const auto x = std::span(b).subspan(k * size, size);
          const std::vector<Complex> expected =
              dense_solution(a, operation, std::span(given).subspan(k * size, size));
          ASSERT_LE(difference(x, expected), 1e-11)
              << "instance " << instance << " symmetry " << int(symmetry) << " operation "
              << int(operation);
        }
      }
    }
}

// The backward error by its definition, of the system as it was given.
TEST(ComplexSolver, TellsTheComponentwiseErrorOfTheGivenSystem) {
  std::mt19937 random(6);
  for (const ComplexSymmetry symmetry : kSymmetries) {
    const std::int32_t n = 12;
    const ComplexMatrix a = random_complex(random, symmetry, n, 4);
    for (const ComplexOperation operation : kOperations) {
      const std::vector<Complex> x = drawn_vector(random, n), b = drawn_vector(random, n);
      ComplexDense dense = ComplexDense(a).operated(operation);
      double worst = 0;
      for (std::int32_t i = 0; i < n; ++i) {
        LongComplex r = b[i];
        long double w = std::abs(b[i]);
        for (std::int32_t j = 0; j < n; ++j) {
          r -= dense(i, j) * LongComplex(x[j]);
          w += std::abs(dense(i, j)) * std::abs(LongComplex(x[j]));
        }
        if (w > 0) worst = std::max(worst, static_cast<double>(std::abs(r) / w));
      }
      EXPECT_NEAR(ComplexErrorMeasure(a)(operation, x, b), worst, 1e-13);
    }
  }
}

TEST(ComplexSolver, SolvesHelmholtzAsItsRealForm) {
  for (const Complex shift : {Complex(-0.7, 0.1), Complex(-2.3, 0.01), Complex(0, 1)}) {
    const ComplexMatrix a = helmholtz("24x23", shift);
    std::mt19937 random(7);
    const std::vector<Complex> b = drawn_vector(random, static_cast<std::size_t>(a.size));
    ComplexSolver solver{ComplexMatrix(a), alone()};
    factor(solver);
    EXPECT_EQ(solver.solver().kind(), FactorKind::kLdlt);
    std::vector<Complex> x = b;
    EXPECT_LE(solver.solve(x).refinement.backward_error, 1e-15);
    EXPECT_LE(difference(x, solution_of_real_form(a, b)), 1e-12);
  }
}

TEST(ComplexSolver, SolvesARealMatrixAsTheRealSolverDoes) {
  const SymmetricMatrix grid = make_grid(parse_grid("17x19"));
  Solver real(InputMatrix(grid), alone());
  ASSERT_TRUE(real.plan({}));
  ASSERT_TRUE(real.factorise());
  std::mt19937 random(8);
  std::vector<Complex> b = drawn_vector(random, static_cast<std::size_t>(grid.size));
  std::vector<double> first, second;
  for (const Complex value : b) {
    first.push_back(value.real());
    second.push_back(value.imag());
  }
  static_cast<void>(real.solve(first));
  static_cast<void>(real.solve(second));
  std::vector<Complex> expected;
  for (std::size_t k = 0; k < b.size(); ++k) expected.emplace_back(first[k], second[k]);
  const std::vector<double> zeros(grid.row.size());
  for (const std::optional<FactorKind> kind :
       {std::optional<FactorKind>(), std::optional(FactorKind::kLdlt),
        std::optional(FactorKind::kLu)})
    for (const ComplexSymmetry symmetry :
         {ComplexSymmetry::kHermitian, ComplexSymmetry::kSymmetric}) {
      SolverOptions options = alone();
      options.kind = kind;
      ComplexSolver solver(zipped(symmetry, SymmetricMatrix(grid), zeros), options);
      factor(solver);
      std::vector<Complex> x = b;
      static_cast<void>(solver.solve(x));
      EXPECT_LE(difference(x, expected), 1e-14);
    }
}

TEST(ComplexSolver, KeepsTheFillOfTheComplexMatrix) {
  const SymmetricMatrix grid = make_grid(parse_grid("30x30"));
  SolverOptions options = alone();
  options.analysis.amalgamation.relaxed = false;
  Solver real(InputMatrix(grid), options);
  const std::int64_t entries = real.analysis().symbolic.factor_entries;
  ComplexSolver solver(helmholtz("30x30", {-0.5, 0.3}), options);
  EXPECT_EQ(solver.solver().analysis().symbolic.factor_entries, entries);
  ComplexMatrix whole = general_of(helmholtz("30x30", {-0.5, 0.3}));
  options.kind = FactorKind::kLu;
  ComplexSolver general(std::move(whole), options);
  EXPECT_EQ(general.solver().analysis().symbolic.factor_entries, entries);
}

TEST(ComplexSolver, TakesOtherValuesOfTheSamePattern) {
  std::mt19937 random(13);
  for (const ComplexSymmetry symmetry : kSymmetries) {
    ComplexMatrix a = random_complex(random, symmetry, 20, 4);
    ComplexSolver solver{ComplexMatrix(a), alone()};
    factor(solver);
    for (Complex& value : a.value) value *= 1.5;
    solver.replace_values(ComplexMatrix(a));
    ASSERT_TRUE(solver.solver().factorise());
    std::vector<Complex> b = solver.apply_to_ones();
    static_cast<void>(solver.solve(b));
    EXPECT_LE(difference(b, std::vector<Complex>(20, 1.0)), 1e-10);
  }
  ComplexSolver solver(random_complex(random, ComplexSymmetry::kHermitian, 5, 4),
                       alone());
  factor(solver);
  ComplexMatrix lost = helmholtz("5", {0, 1});
  EXPECT_THROW(solver.replace_values(std::move(lost)), InvalidInput);
}

TEST(ComplexSolver, IsSavedAsWhatItIs) {
  std::mt19937 random(14);
  for (const ComplexSymmetry symmetry : kSymmetries) {
    const ComplexMatrix a = random_complex(random, symmetry, 30, 4);
    const TemporaryFile file(".factor");
    std::vector<Complex> b = drawn_vector(random, 30), expected = b;
    {
      ComplexSolver solver{ComplexMatrix(a), alone()};
      factor(solver);
      static_cast<void>(solver.solve(expected));
      solver.solver().save(file.path());
    }
    ComplexSolver loaded(Solver::load(file.path(), alone()));
    EXPECT_EQ(loaded.symmetry(), symmetry);
    std::vector<Complex> x = b;
    EXPECT_LE(loaded.solve(x).refinement.backward_error, 1e-14);
    EXPECT_LE(difference(x, expected), 1e-12);
    factor(loaded, loaded.solver().least_for_plan());
    x = b;
    static_cast<void>(loaded.solve(x));
    EXPECT_LE(difference(x, expected), 1e-12);
  }
  const TemporaryFile file(".factor");
  Solver real(make_grid(parse_grid("5x5")), alone());
  ASSERT_TRUE(real.plan({}));
  ASSERT_TRUE(real.factorise());
  real.save(file.path());
  EXPECT_THROW(ComplexSolver(Solver::load(file.path(), alone())), InvalidInput);
}

TEST(ComplexSolver, KeepsItsLeastBoundInCoreAndOutOfCore) {
  for (const bool spills : {false, true}) {
    SolverOptions options;
    options.workers = 2;
    options.runtime_flops = 0;
    if (spills) options.out_of_core = std::filesystem::temp_directory_path();
    ComplexSolver solver(helmholtz("40x40", {-0.5, 0.2}), options);
    const Bytes least = solver.solver().least_for_plan();
    ASSERT_FALSE(solver.solver().plan(solver.solver().memory().baseline));
    const FactorReport report = factor(solver, least);
    EXPECT_LE(report.allocated_peak, report.booked_peak);
    std::vector<Complex> b = solver.apply_to_ones();
    b.insert(b.end(), b.begin(), b.end());
    EXPECT_LE(solver.solve(b, 2).refinement.backward_error, 1e-15);
    EXPECT_LE(difference(b, std::vector<Complex>(b.size(), 1.0)), 1e-11);
    EXPECT_LE(solver.solver().peak_resident(), least);
  }
}

TEST(ComplexSolver, SaysWhatItDoesNotTake) {
  const auto refusal = [](ComplexMatrix&& matrix, const SolverOptions& options) {
    try {
      ComplexSolver solver(std::move(matrix), options);
    } catch (const InvalidInput& error) {
      return std::string(error.what());
    }
    return std::string("no refusal");
  };
  SolverOptions options = alone();
  options.kind = FactorKind::kCholesky;
  EXPECT_EQ(refusal(helmholtz("3", kI), options),
            "Cholesky needs a Hermitian matrix: it is complex symmetric");
  options.kind = FactorKind::kLdlt;
  EXPECT_EQ(refusal(made_of(ComplexSymmetry::kGeneral, 2, {{{0, 1}, kI}}), options),
            "L D L^T needs a Hermitian or complex symmetric matrix: it is general");
  options.kind.reset();
  options.analysis.order = {0, 1};
  EXPECT_EQ(refusal(helmholtz("3", kI), options),
            "options.analysis.order has 2 entries for order 3");
  options.analysis.order.clear();
  options.schur = {3};
  EXPECT_NE(refusal(helmholtz("3", kI), options).find("3"), std::string::npos);
  ComplexSolver solver(helmholtz("3", kI), alone());
  factor(solver);
  std::vector<Complex> b(4);
  EXPECT_THROW(static_cast<void>(solver.solve(b)), InvalidInput);
  b = {1, Complex(NAN, 0), 0};
  EXPECT_THROW(static_cast<void>(solver.solve(b)), InvalidInput);
}

TEST(ComplexSolver, SolvesOrderZero) {
  for (const ComplexSymmetry symmetry : kSymmetries) {
    ComplexSolver solver(made_of(symmetry, 0, {}), alone());
    factor(solver);
    std::vector<Complex> none;
    EXPECT_EQ(solver.solve(none).refinement.backward_error, 0);
    EXPECT_EQ(solver.determinant().modulus.log_modulus(), 0);
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
