#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/output.h"
#include "cli/solve_options.h"
#include "cli/solve_report.h"
#include "solver/api/solver.h"

// The steps of `espalier solve`, in one process or on many.

namespace espalier::cli {

/// Entries of a matrix as it was read.
[[nodiscard]] std::int64_t entries_of(const solver::InputMatrix& matrix);

/// The right-hand sides and, after the solve, the solutions.
struct Vectors {
  std::vector<double> values;
  std::int32_t nrhs = 1;
  std::vector<std::int64_t> rows;  ///< where there may be entries; empty: anywhere
};

/// Reads --rhs; without it one vector of zeros, whose memory is counted with what is
/// resident before the factorisation. @throws FileError
[[nodiscard]] Vectors right_hand_sides(const SolveOptions& options, std::int32_t size);

/// While it lives a matrix is analysed, by several orders perhaps: what is freed serves
/// the next step. Not in a bound that might then have too little room.
class AnalysisHeap {
 public:
  AnalysisHeap(const SolveOptions& options, std::int64_t order, std::int64_t entries);
  ~AnalysisHeap();  ///< the heap is small again
  AnalysisHeap(const AnalysisHeap&) = delete;
  AnalysisHeap& operator=(const AnalysisHeap&) = delete;
};

/// The bound that was asked for; no value: none. The order of elimination is settled
/// by then.
[[nodiscard]] std::optional<Bytes> bound_of(const SolveOptions& options,
                                            solver::Solver& solver);

/// With --explain: what makes up the least bounds, before the plan.
void explain_least(const SolveOptions& options, const solver::Solver& solver,
                   SolveRun& run);
/// In a bound: the code that read and analysed leaves the resident set, now that what is
/// resident before the first front has been counted with it.
void leave_analysis(const SolveRun& run);
/// With --explain: what made up the peak, when all has ended.
void explain_peak(const SolveOptions& options, const solver::Solver& solver,
                  SolveRun& run);
/// Factorises, --repeat times, and writes what the last time recorded to --trace, if it
/// was asked for. @return why it failed; none: the run has it @throws FileError
[[nodiscard]] std::optional<solver::NotPositiveDefinite> factorise(
    const SolveOptions& options, solver::Solver& solver, SolveRun& run,
    Progress& progress);

/// Solves in place; without --rhs for A times ones.
void solve(const SolveOptions& options, solver::Solver& solver, Vectors& vectors,
           SolveRun& run);

/// What cannot be on several processes. @throws Refused
void check_for_cluster(const SolveOptions& options);

/// The whole of `espalier solve` on the processes that an MPI launcher started; does not
/// return where the job fails. @throws nothing of the work's own
[[nodiscard]] Ending solve_on_cluster(SolveOptions& options, const Suggest& suggest);

}  // namespace espalier::cli
