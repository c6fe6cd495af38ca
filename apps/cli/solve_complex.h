#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/solve_options.h"
#include "cli/solve_report.h"
#include "espalier/model/clock.h"
#include "solver/api/solver.h"
#include "solver/complex/complex_solver.h"
#include "solver/matrix/complex_matrix.h"

// `espalier solve` with a complex matrix: the steps of solve.cpp and solve_steps.h, by
// ComplexSolver.

namespace espalier::cli {

/// As Vectors.
struct ComplexVectors {
  std::vector<solver::Complex> values;
  std::int32_t nrhs = 1;
  std::vector<std::int64_t> rows;  ///< where there may be entries; empty: anywhere
};

/// As right_hand_sides(). @throws FileError
[[nodiscard]] ComplexVectors complex_right_hand_sides(const SolveOptions& options,
                                                      std::int32_t size);
/// As solve() of solve_steps.h.
void solve(const SolveOptions& options, solver::ComplexSolver& solver,
           ComplexVectors& vectors, SolveRun& run);
/// Of the matrix that was given.
[[nodiscard]] std::vector<solver::Complex> null_space(solver::ComplexSolver& solver);

/// @param start     when reading began
/// @param progress  ended before anything is reported
[[nodiscard]] Ending solve_complex(SolveOptions& options, solver::ComplexMatrix&& matrix,
                                   Clock::time_point start,
                                   std::optional<Progress>& progress);

/// With a factorisation that was saved, of a complex matrix.
[[nodiscard]] ExitStatus solve_saved_complex(const SolveOptions& options,
                                             std::unique_ptr<solver::Solver> loaded,
                                             Clock::time_point start,
                                             std::optional<Progress>& progress);

/// What kind of numbers the matrix has.
void report_scalar(Report& report, const solver::Solver& solver);
void report_determinant(Report& report, const solver::ComplexDeterminant& found);

}  // namespace espalier::cli
