#pragma once

// What the tests of ComplexSolver share.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "espalier/model/error.h"
#include "solver/complex/complex_error.h"
#include "solver/complex/complex_solver.h"
#include "solver/complex/complex_systems.h"
#include "solver/complex/real_form.h"

namespace espalier::solver {

constexpr Complex kI(0, 1);
constexpr ComplexSymmetry kSymmetries[] = {
    ComplexSymmetry::kGeneral, ComplexSymmetry::kSymmetric, ComplexSymmetry::kHermitian};
constexpr ComplexOperation kOperations[] = {ComplexOperation::kPlain,
                                            ComplexOperation::kTransposed,
                                            ComplexOperation::kConjugateTransposed};

/// Everything in this thread.
inline SolverOptions alone() {
  SolverOptions options;
  options.runtime_flops = 1e18;
  return options;
}

inline FactorReport factor(ComplexSolver& solver, std::optional<Bytes> bound = {}) {
  const auto planned = solver.solver().plan(bound);
  if (!planned) throw Error(planned.error().message());
  const auto run = solver.solver().factorise();
  if (!run) throw Error(fmt::format("no pivot in column {}", run.error().column));
  return *run;
}

/// Largest |x - y| over the largest |y|.
inline double difference(std::span<const Complex> x, std::span<const Complex> y) {
  double result = 0;
  for (std::size_t k = 0; k < x.size(); ++k)
    result = std::max(result, std::abs(x[k] - y[k]));
  return result / std::max(largest(y), 1e-300);
}

/// x of op(A) x = b by dense elimination in long double.
inline std::vector<Complex> dense_solution(const ComplexMatrix& a,
                                           ComplexOperation operation,
                                           std::span<const Complex> b) {
  std::vector<LongComplex> x(b.begin(), b.end());
  LongComplex determinant;
  if (!eliminate(ComplexDense(a).operated(operation), x, determinant))
    throw Error("the test's matrix is singular");
  std::vector<Complex> result;
  for (const LongComplex value : x) result.emplace_back(value);
  return result;
}

/// That of a factored matrix is the one of dense elimination.
inline void expect_determinant(const ComplexSolver& solver, const ComplexMatrix& a) {
  std::vector<LongComplex> unused(static_cast<std::size_t>(a.size));
  LongComplex expected;
  ASSERT_TRUE(eliminate(ComplexDense(a), unused, expected));
  const ComplexDeterminant found = solver.determinant();
  EXPECT_NEAR(found.modulus.log_modulus(),
              static_cast<double>(std::log(std::abs(expected))), 1e-9);
  EXPECT_LE(
      std::abs(std::polar(1.0, found.argument) - Complex(expected / std::abs(expected))),
      1e-9);
}

/// The same system in real numbers of twice the order, ordered and prepared as such.
inline std::vector<Complex> solution_of_real_form(const ComplexMatrix& a,
                                                  const std::vector<Complex>& b) {
  Solver real(real_form(general_of(ComplexMatrix(a)), RealForm::kGeneral), alone());
  if (!real.plan({}) || !real.factorise()) throw Error("the real form has no factor");
  std::vector<Complex> x = b;
  static_cast<void>(real.solve(parts_of(x)));
  return x;
}

}  // namespace espalier::solver
