#pragma once

#include "cli/output.h"
#include "cli/solve_report.h"

namespace espalier::cli {

/// The part of the report of `espalier solve` that is memory: what the gate booked, what
/// the fronts really took, and what the system counts for the process. Nothing of it is
/// estimated after the fact.
void report_memory(Report& report, const SolveOptions& options,
                   const solver::Solver& solver, const SolveRun& run);

/// Where several orders of elimination were weighed: the least bound of each.
void report_orders(Report& report, const solver::Solver& solver);

/// --report: the page on what the figures are made of. @throws FileError
void write_memory_page(const SolveOptions& options, const solver::Solver& solver,
                       const SolveRun& run);

}  // namespace espalier::cli
