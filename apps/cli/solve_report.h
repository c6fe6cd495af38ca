#pragma once

#include <cstdint>
#include <optional>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/solve_options.h"

namespace espalier::cli {

/// What is known of a run of `espalier solve` when it has ended well.
struct SolveRun {
  std::int64_t entries = 0;  ///< of the matrix as it was read; saved: not known
  std::int32_t right_hand_sides = 1;
  std::optional<Bytes> bound;  ///< on the process
  Seconds read_seconds = 0;    ///< the matrix, or the saved factorisation
  Seconds save_seconds = 0;
  bool cholesky_failed = false;  ///< it went on as L D L^T
  solver::FactorReport factor;   ///< saved: only pivots.null_space is known
  solver::Solution solution;
  std::optional<double> forward_error;  ///< where the solution is known
};

/// Everything, and what is to be warned of: on standard error, as "trusted": false and
/// as the exit status.
[[nodiscard]] ExitStatus report_run(const SolveOptions& options,
                                    const solver::Solver& solver, const SolveRun& run);

/// The answer "it does not fit", with the least bound in core and out of core.
[[nodiscard]] ExitStatus report_infeasible(const SolveOptions& options,
                                           const solver::Solver& solver,
                                           std::int64_t entries, Infeasible answer);

/// The answer "not positive definite", which names the column as in the file: from 1.
[[nodiscard]] ExitStatus report_not_definite(const SolveOptions& options,
                                             const solver::Solver& solver,
                                             std::int64_t entries,
                                             const solver::BadPivot& bad);

}  // namespace espalier::cli
