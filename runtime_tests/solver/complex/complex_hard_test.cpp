// Complex systems on which pivots fail, and entries at the ends of the range.

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "solver/complex/complex_solving.h"
#include "solver/complex/complex_systems.h"

namespace espalier::solver {
namespace TEST_SOURCE {

// A grid whose edges carry phases, as in a magnetic field: Hermitian, indefinite for a
// negative shift; with `phase` on the edges of one direction only it is general.
ComplexMatrix grid_with_phases(const char* grid, double shift, ComplexSymmetry symmetry) {
  ComplexMatrix lower = helmholtz(grid, shift);
  lower.symmetry = ComplexSymmetry::kHermitian;
  for (std::int32_t j = 0; j < lower.size; ++j)
    for (auto k = lower.column_start[j] + 1; k < lower.column_start[j + 1]; ++k)
      lower.value[k] *= std::polar(1.0, 0.3 * (j % 7));
  if (symmetry == ComplexSymmetry::kHermitian) return lower;
  ComplexMatrix whole = general_of(std::move(lower));
  for (std::int32_t j = 0; j < whole.size; ++j)
    for (auto k = whole.column_start[j]; k < whole.column_start[j + 1]; ++k)
      if (whole.row[k] > j) whole.value[k] *= Complex(0.5, 0.7);
  return whole;
}

TEST(ComplexSolver, SolvesIndefiniteGridsAsTheirRealForms) {
  std::mt19937 random(17);
  for (const ComplexSymmetry symmetry :
       {ComplexSymmetry::kHermitian, ComplexSymmetry::kGeneral})
    for (const double shift : {0.5, -1.3, -2.9}) {
      const ComplexMatrix a = grid_with_phases("31x29", shift, symmetry);
      const std::vector<Complex> b =
          drawn_vector(random, static_cast<std::size_t>(a.size));
      ComplexSolver solver{ComplexMatrix(a), alone()};
      factor(solver);
      EXPECT_EQ(solver.symmetry(), symmetry);
      std::vector<Complex> x = b;
      EXPECT_LE(solver.solve(x).refinement.backward_error, 1e-15);
      EXPECT_LE(difference(x, solution_of_real_form(a, b)), 1e-12) << shift;
    }
}

// Large fronts by tiles on the runtime; pivots are delayed, or taken as they are.
TEST(ComplexSolver, FactorsByTilesAndDelaysPivots) {
  std::mt19937 random(18);
  std::int64_t delayed = 0;
  for (const ComplexSymmetry symmetry : kSymmetries)
    for (const Bytes reserve : {Bytes{1} << 24, Bytes{0}}) {
      const std::int32_t n = 400;
      Entries entries;
      for (std::int32_t j = 0; j < n; ++j)
        for (int k = 0; k < 12; ++k) {
          const std::int32_t i = drawn(random, 0, n - 1);
          if (symmetry == ComplexSymmetry::kGeneral || i > j)
            entries[{j, i}] = drawn_value(random);
        }
      const ComplexMatrix a = made_of(symmetry, n, entries);
      SolverOptions options;
      options.workers = 2;
      options.runtime_flops = 0;
      if (reserve > 0) options.prepare.scaling = PrepareOptions::Scaling::kNone;
      options.pivot_threshold = 0.1;
      options.delay_reserve = reserve;
      ComplexSolver solver{ComplexMatrix(a), options};
      const FactorReport report =
          factor(solver, solver.solver().least_for_plan() + (Bytes{1} << 27));
      delayed += report.pivots.delayed;
      const std::vector<Complex> b = drawn_vector(random, n);
      std::vector<Complex> x = b;
      const Solution solution = solver.solve(x);
      EXPECT_LE(solution.refinement.backward_error, 1e-14) << int(symmetry);
      if (reserve > 0) {
        EXPECT_LE(difference(x, dense_solution(a, ComplexOperation::kPlain, b)), 1e-9);
      }
    }
  EXPECT_GT(delayed, 100);
}

TEST(ComplexSolver, BearsExtremesOfMagnitude) {
  for (const double size : {1e300, 1e-300, 1e-310})
    for (const ComplexSymmetry symmetry : kSymmetries) {
      const bool hermitian = symmetry == ComplexSymmetry::kHermitian;
      Entries entries = {{{0, 0}, hermitian ? Complex(2) : Complex(2, 1)},
                         {{0, 1}, Complex(0.5, -1)},
                         {{1, 1}, hermitian ? Complex(-3) : Complex(0, -3)}};
      if (symmetry == ComplexSymmetry::kGeneral) entries[{1, 0}] = Complex(1, 1);
      for (auto& [place, value] : entries) value *= size;
      const ComplexMatrix a = made_of(symmetry, 2, entries);
      ComplexSolver solver{ComplexMatrix(a), alone()};
      factor(solver);
      std::vector<Complex> b = solver.apply_to_ones();
      const Solution solution = solver.solve(b);
      // Subnormal numbers have fewer digits.
      EXPECT_LE(difference(b, std::vector<Complex>{1, 1}), size < 1e-305 ? 1e-12 : 1e-15)
          << size << " " << int(symmetry);
      EXPECT_LE(solution.refinement.backward_error, 1e-15);
    }
  // Rows and columns far apart.
  std::mt19937 random(19);
  for (const ComplexSymmetry symmetry : kSymmetries) {
    ComplexMatrix a = random_complex(random, symmetry, 30, 4);
    for (std::int32_t j = 0; j < a.size; ++j)
      for (auto k = a.column_start[j]; k < a.column_start[j + 1]; ++k)
        a.value[k] *= std::ldexp(1.0, 16 * (a.row[k] % 30 - 15) + 16 * (j % 30 - 15));
    ComplexSolver solver{ComplexMatrix(a), alone()};
    factor(solver);
    std::vector<Complex> b = solver.apply_to_ones();
    EXPECT_LE(solver.solve(b).refinement.backward_error, 1e-15) << int(symmetry);
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
