#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "espalier/model/units.h"
#include "espalier/solver/results.h"
#include "solver/matrix/linear_operator.h"
#include "solver/matrix/matrix_part.h"

namespace espalier::solver {

struct ErrorEstimateOptions {
  Operation operation = Operation::kPlain;  ///< the system is op(B) y = b
  /// Diagonals of R and C, positive; in the order of B; empty: ones. The same for
  /// either operation.
  std::span<const double> row_scale, column_scale;
  /// Whether the bound of the error is above this is all that matters; 0: it is to be
  /// known as well as it can be, and the condition number, too.
  double enough = 0;

  /// Of the unknowns of op(B).
  [[nodiscard]] std::span<const double> unknown_scale() const {
    return operation == Operation::kTransposed ? row_scale : column_scale;
  }
};

/// What is left or was rounded of each equation: b := |b - op(B) y| + f, with
/// f = residual_rounding(). Collective where the matrix is a part of one.
/// @return || C y ||_inf
[[nodiscard]] double weigh_errors(const MatrixPart& matrix, std::span<const double> y,
                                  std::span<double> b,
                                  const ErrorEstimateOptions& options);

/// The same of the vectors that begin at these places of both blocks, by threads.
/// @return the norms
[[nodiscard]] std::vector<double> weigh_errors(const MatrixPart& matrix,
                                               std::span<const double> y,
                                               std::span<double> b,
                                               std::span<const std::size_t> places,
                                               const ErrorEstimateOptions& options,
                                               std::int32_t threads);

/// Whether an error is above `enough` or may be, by one solve with random numbers:
/// sqrt(n) times what it leaves is the bound of estimate_errors() in the mean, and a
/// hundred times that is more than it but once in hundreds.
/// @param weights, norm  of weigh_errors(); weights are overwritten
[[nodiscard]] bool is_doubtful(std::span<double> weights, double norm,
                               const BlockOperator& solve,
                               const ErrorEstimateOptions& options);

/// Condition number, and bound of the error of a solution that was refined:
///   || |C op(B)^-1| weights ||_inf / || C y ||_inf
/// as in LAPACK's gerfs [ADD89]; not above omega1 cond1 + omega2 cond2 of [ADD89], but
/// for the f of weigh_errors(). Both by estimate_norm1(), as good as the solves are.
/// Collective where the matrix is a part of one. With `enough` the bound is estimated
/// until it is known to be above that, mostly by two solves, and the condition number is
/// not.
///
/// @param weights, norm  of weigh_errors()
/// @param solve, solve_transposed  as estimate_norm1() has them, op(B)^-1 and op(B)^-T
/// @par Memory  estimate_errors_bytes(), allocated inside
[[nodiscard]] ErrorEstimate estimate_errors(const MatrixPart& matrix,
                                            std::span<const double> weights, double norm,
                                            const BlockOperator& solve,
                                            const BlockOperator& solve_transposed,
                                            const ErrorEstimateOptions& options = {});

/// The most that weigh_errors() or estimate_errors() allocates: 12 n bytes or, with what
/// `solve` takes meanwhile, 8.5 n bytes and a little.
[[nodiscard]] Bytes estimate_errors_bytes(std::int32_t size, Bytes solve);

}  // namespace espalier::solver
