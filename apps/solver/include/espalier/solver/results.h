#pragma once

#include <complex>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "espalier/model/run_record.h"
#include "espalier/model/units.h"
#include "espalier/solver/export.h"

namespace espalier::solver {

/// A pivot that is not positive: the matrix is not positive definite.
struct NotPositiveDefinite {
  std::int32_t column = 0;  ///< in elimination order, 0-based
};

/// A part of a factor: see Solver::solve_part().
enum class FactorPart : std::int8_t { kL, kD, kU };

/// What the pivots were.
struct PivotStatistics {
  std::int64_t delayed = 0;     ///< columns that went to a parent, once for each time
  std::int64_t perturbed = 0;   ///< replaced since nothing could be delayed any more
  std::int64_t null_space = 0;  ///< zero pivots left at the end: estimated deficiency
  std::int64_t negative = 0;    ///< LDL^T: negative eigenvalues
  std::int64_t two_by_two = 0;  ///< LDL^T: pivots of order 2
  /// Columns that would have been put off had there been memory for it
  /// (SolverOptions::delay_reserve): the pivots that they got are below the threshold.
  std::int64_t not_delayed = 0;
  /// Least pivot that was taken as it is. LDL^T, LU: its modulus, see
  /// kernels::PivotCounts; Cholesky: which part it is of the diagonal entry of A that it
  /// came from. Infinite: there was none.
  double smallest = std::numeric_limits<double>::infinity();
};

/// What compression did.
struct LowRankStatistics {
  std::int64_t blocks = 0;      ///< tiles under the diagonal blocks of compressed fronts
  std::int64_t compressed = 0;  ///< those that are, of rank 0 among them
  std::int64_t rank_sum = 0;    ///< of the compressed ones
  std::int32_t rank_max = 0;
  std::int64_t single = 0;          ///< tiles that are kept in single precision
  Bytes full_bytes = 0, bytes = 0;  ///< of the panels of these fronts
  Flops full_flops = 0, flops = 0;  ///< of the updates in them
};

/// What the runtime recorded of a factorisation.
struct FactorReport {
  /// 0: it was repeated for a system of a few unknowns, in less than a microsecond, of
  /// which reading the clock would be a tenth.
  Seconds seconds = 0;
  Bytes booked_peak = 0;  ///< 0 under another scheduler
  Bytes allocated_peak = 0;
  std::int64_t tasks = 0;
  double held_seconds = 0;  ///< that tasks waited at the gate, summed
  std::int64_t stolen_tasks = 0;
  double busy_seconds = 0;  ///< in tasks, summed over workers; 0 likewise
  PivotStatistics pivots;
  LowRankStatistics low_rank;
  Bytes given_back = 0;  ///< of what was booked for the factor, after its compression
  /// Where FactorInput asks for it. Its input, operation, order, mapping and bound are
  /// for the caller to say.
  std::optional<RunRecord> run;
  std::string advice;  ///< a sentence on what would make this faster here; or empty
};

struct Refinement {
  double backward_error = 0;     ///< omega1 + omega2 of the worst vector
  double strict = 0;             ///< BackwardError::strict of the worst vector
  std::int32_t steps = 0;        ///< plain corrections to the vector with most of them
  std::int32_t gmres_steps = 0;  ///< solves inside GMRES, of all vectors
};

/// With A the matrix of the system that was given, and B = R A C the one that was solved;
/// R and C diagonal. Permutations of it do not matter.
struct ErrorEstimate {
  /// About ||A||_1 ||A^-1||_1; no more, but for rounding. 0: where only hidden errors
  /// were looked for, it is not known.
  double condition_1norm = 0;
  /// About a bound of ||x - x_exact||_inf / ||x||_inf, where x = C y is the solution;
  /// with an unknown condition, as much of it as is beyond kGoodForwardError.
  double forward_error_bound = 0;
};

/// A backward error beyond this is a solution that must not be trusted. Refinement is in
/// double precision whatever the factor is in.
/// @param rough  of a factor in single precision, without refinement
[[nodiscard]] constexpr double good_backward_error(bool rough) {
  return rough ? 5.36870912e-4 : 1e-12;  // both 4504 times the epsilon of the precision
}

/// A solution whose error may be more than this part of it must not be trusted.
inline constexpr double kGoodForwardError = 0.1;

/// Why a solution is not to be trusted: everything that the run knows.
struct Doubts {
  /// The matrix is singular to working precision: there are many solutions, or none.
  bool singular = false;
  bool backward_error = false;  ///< above good_backward_error(); singular: b is not met
  bool forward_error = false;   ///< its bound is above kGoodForwardError, likewise

  [[nodiscard]] bool any() const { return singular || backward_error || forward_error; }
};

struct Solution {
  Refinement refinement;
  /// The worst of the vectors. Where they were asked for, or where the factorisation or
  /// the size of a solution gives reason to doubt it.
  std::optional<ErrorEstimate> errors;
  Doubts doubts;  ///< of all vectors
  /// Forward and backward substitution; of small definite systems with the residual. 0:
  /// as in FactorReport.
  Seconds seconds = 0;
  Seconds refine_seconds = 0;  ///< residuals, error estimates, further substitutions
};

/// A determinant, mantissa 2^exponent: products of many pivots leave the range of double
/// precision long before they mean nothing. 0.5 <= |mantissa| < 1, or both are 0.
///
/// Of a complex matrix times `phase`, of modulus 1.
struct ESPALIER_SOLVER_EXPORT Determinant {
  double mantissa = 0.5;
  std::int64_t exponent = 1;
  std::complex<double> phase = 1;

  /// @param factor  finite
  void multiply(double factor);
  void multiply(std::complex<double> factor);
  [[nodiscard]] int sign() const { return (mantissa > 0) - (mantissa < 0); }
  /// Natural logarithm of the modulus; of 0: minus infinity.
  [[nodiscard]] double log_modulus() const;
};

/// What went to a spill file and came back.
struct SpillCounters {
  Bytes bytes_written = 0;
  Bytes bytes_read = 0;
  Seconds write_seconds = 0;  ///< in system calls, of one thread
  Seconds read_seconds = 0;   ///< in system calls, summed over reading threads
};

/// Messages between processes.
struct MessageCounters {
  std::int64_t messages = 0, bytes = 0;  ///< of data sent
};

/// What one process knows of the work that it shares with others.
struct ProcessFacts {
  Bytes predicted_peak = 0;       ///< of the plan's order on this process's part: exact
  Bytes sequential_least = 0;     ///< least bound of the whole tree in one process
  std::int64_t shared_nodes = 0;  ///< that several processes work on
  std::int64_t grid_nodes = 0;    ///< of these, in tiles over a grid of processes
  MessageCounters sent;           ///< while factorising
};

}  // namespace espalier::solver
