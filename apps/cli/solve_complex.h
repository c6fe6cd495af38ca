#pragma once

#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/solve_options.h"
#include "cli/solve_report.h"
#include "espalier/model/clock.h"
#include "solver/api/solver.h"
#include "solver/matrix/complex_matrix.h"

// `espalier solve` with a complex matrix: the steps of solve.cpp, by ComplexSolver.

namespace espalier::cli {

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
