#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/solve_explain.h"
#include "cli/solve_options.h"
#include "solver/complex/complex_solver.h"

namespace espalier::cli {

/// What each process of a job had, by rank.
struct ProcessFigures {
  std::vector<Bytes> peak, baseline, growth;     ///< resident sets
  std::vector<Bytes> predicted, booked;          ///< peaks of the fronts
  std::vector<Bytes> sent;                       ///< while factorising
  std::int64_t messages = 0;                     ///< of all of them
  std::vector<Bytes> spill_file, written, read;  ///< out of core
  Bytes sequential_least = 0;  ///< of the fronts in the memory of one process
  std::int64_t shared_nodes = 0;
  std::int64_t grid_nodes = 0;  ///< of these, in tiles over a grid of processes
};

/// What is known of a run of `espalier solve` when it has ended well.
struct SolveRun {
  std::int64_t entries = 0;           ///< of the matrix as it was read; saved: not known
  std::int32_t right_hand_sides = 1;  ///< 0: nothing was solved
  std::optional<Bytes> bound;         ///< on the process
  Seconds read_seconds = 0;           ///< the matrix, or the saved factorisation
  Seconds save_seconds = 0;
  bool cholesky_failed = false;      ///< it went on as L D L^T
  Seconds first_factor_seconds = 0;  ///< with --repeat
  solver::FactorReport factor;       ///< saved: only pivots.null_space is known
  solver::Solution solution;
  std::optional<solver::Determinant> determinant;  ///< with --determinant
  std::optional<double> forward_error;             ///< where the solution is known
  std::optional<ProcessFigures> processes;         ///< of a job with several
  std::vector<ExplainedFigure> explained;          ///< with --explain
  std::optional<Bytes> peak;                       ///< of this process, once it has ended
  /// Likewise, of a complex matrix.
  std::optional<solver::ComplexDeterminant> complex_determinant;

  /// Of the process that had most; else of this one, at the end or up to now.
  [[nodiscard]] Bytes peak_resident(const solver::Solver& solver) const;
};

/// Everything, and what is to be warned of: on standard error, as "trusted": false and
/// as the exit status.
[[nodiscard]] ExitStatus report_run(const SolveOptions& options,
                                    const solver::Solver& solver, const SolveRun& run);

/// Before the factorisation, where Solver::may_not_fit().
void warn_that_it_may_not_fit(const SolveOptions& options, const solver::Solver& solver,
                              Bytes bound);
/// The answer "it does not fit", with the least bound in core and out of core.
/// @param advice  how less may do, where nothing is kept out of core
[[nodiscard]] Ending report_infeasible(const SolveOptions& options,
                                       const solver::Solver& solver, const SolveRun& run,
                                       Infeasible answer, std::string_view advice);

/// The answer "not positive definite", which names the column as in the file: from 1.
[[nodiscard]] Ending report_not_definite(const SolveOptions& options,
                                         const solver::Solver& solver,
                                         std::int64_t entries,
                                         const solver::NotPositiveDefinite& bad);

}  // namespace espalier::cli
