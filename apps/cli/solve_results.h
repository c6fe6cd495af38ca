#pragma once

#include <functional>

#include "cli/cli_types.h"
#include "cli/solve_options.h"
#include "cli/solve_report.h"

// What `espalier solve` tells beside solutions: determinant, null space, Schur
// complement.

namespace espalier::cli {

void add_results(CLI::App& app, SolveOptions& options);

/// @throws Refused for options that exclude each other, FileError
void check_results(const SolveOptions& options);

/// The variables of --schur, from 0: numbers from 1 in a text file, apart by white space
/// or commas; lines that begin with % are comments.
/// @throws Refused naming the line for anything else
[[nodiscard]] std::vector<std::int32_t> kept_variables(const SolveOptions& options,
                                                       std::int32_t order);

/// Writes what --null-space asks for. Where no basis is found, one line on standard error
/// says so: what else the run has found is told all the same.
/// @throws InvalidInput, FileError
void write_null_space(const SolveOptions& options, std::int64_t dimension,
                      const std::function<void()>& write);

/// After the factorisation: writes the files that were asked for, fills
/// SolveRun::determinant. @throws FileError
void give_results(const SolveOptions& options, solver::Solver& solver, SolveRun& run);

}  // namespace espalier::cli
