#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/cli_types.h"
#include "cli/matrix_input.h"
#include "cli/options.h"
#include "solver/api/solver.h"

namespace espalier::cli {

/// What `espalier solve` was asked for.
struct SolveOptions {
  MatrixSource source;
  std::string factor;          ///< a saved factorisation instead of a source; else empty
  std::string rhs, out, save;  ///< empty: not given
  std::string trace;           ///< file for the tasks of the factorisation; likewise
  std::int32_t repeat = 1;     ///< factorisations
  MemoryRequest memory{.kind = MemoryRequest::Kind::kUnbounded};
  std::optional<double> pivot_threshold;
  std::optional<Bytes> delay_reserve;
  std::string schur;       ///< file of variables that are kept; likewise
  std::string null_space;  ///< file for its basis; likewise
  bool determinant = false;
  bool transposed = false;
  bool conjugate_transposed = false;  ///< of a real matrix: transposed
  bool no_refine = false;
  bool explain = false;
  std::string page;  ///< --report; empty: not given
  bool json = false;
  bool workers_given = false;
  std::int32_t processes = 1;    ///< of the job
  solver::SolverOptions solver;  ///< complete after check()

  /// Whether figures are to be taken apart, for the report or the page.
  [[nodiscard]] bool explains() const { return explain || !page.empty(); }
  [[nodiscard]] bool bounded() const {
    return memory.kind != MemoryRequest::Kind::kUnbounded;
  }
  [[nodiscard]] std::string input_name() const {
    return factor.empty() ? source.name() : factor;
  }
};

void add_solve_options(CLI::App& app, SolveOptions& options);

/// Refuses options that do not go together. @throws Refused
void check_combinations(const SolveOptions& options);

/// Refuses what can be refused before the work, and completes `options.solver`.
/// @throws InvalidInput, FileError naming the option and the value
void check(SolveOptions& options);

[[nodiscard]] std::string_view name(solver::Precision precision);
/// What was done to the matrix, by the names of --scaling.
[[nodiscard]] std::string_view scaling_name(const solver::PrepareOptions& asked,
                                            const solver::PreparedMatrix& prepared);

}  // namespace espalier::cli
