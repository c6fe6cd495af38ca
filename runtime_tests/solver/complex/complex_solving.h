#pragma once

// What the tests of ComplexSolver share.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "espalier/model/error.h"
#include "solver/complex/complex_error.h"
#include "solver/complex/complex_solver.h"
#include "solver/complex/complex_systems.h"

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

}  // namespace espalier::solver
