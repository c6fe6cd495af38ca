#pragma once

#include <cstdint>
#include <optional>
#include <span>

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
};

/// Condition number, and bound of the error of a solution that was refined:
///   || |C op(B)^-1| ( |b - op(B) y| + f ) ||_inf / || C y ||_inf
/// as in LAPACK's gerfs [ADD89], with f = residual_rounding(); not above
/// omega1 cond1 + omega2 cond2 of [ADD89], but for f. Both by estimate_norm1(), as good
/// as the solves are. Collective where the matrix is a part of one.
///
/// With `enough` a solve with random numbers comes first: sqrt(n) times what it leaves is
/// the bound in the mean, and a hundred times that is more than it but once in hundreds.
/// Where that does not do, the bound is estimated until it is known to be above `enough`,
/// mostly by two solves more, and the condition number is not.
///
/// @return none: the bound is good enough
/// @param b  overwritten
/// @param y  not read any more when the first solve begins
/// @param solve, solve_transposed  as estimate_norm1() has them, op(B)^-1 and op(B)^-T
/// @par Memory  estimate_errors_bytes(), allocated inside
[[nodiscard]] std::optional<ErrorEstimate> estimate_errors(
    const MatrixPart& matrix, std::span<double> b, std::span<const double> y,
    const BlockOperator& solve, const BlockOperator& solve_transposed,
    const ErrorEstimateOptions& options = {});

/// The most that estimate_errors() allocates: 12 n bytes or, with what `solve` takes
/// meanwhile, 8.5 n bytes and a little.
[[nodiscard]] Bytes estimate_errors_bytes(std::int32_t size, Bytes solve);

}  // namespace espalier::solver
