#pragma once

#include <span>
#include <vector>

#include "solver/matrix/general_matrix.h"

namespace espalier::solver {

/// Logarithms to base 2 of the factors of rows and columns.
struct ScalingLogs {
  std::vector<double> row, column;
};

/// The powers of two nearest to 2^log, so that scaling rounds nothing; from 2^-500 to
/// 2^500, so that it seldom overflows.
[[nodiscard]] std::vector<double> powers_of_two(std::span<const double> logs);

/// Factors that bring the largest modulus of each row and column near 1 [Rui01]: both are
/// divided by the square root of their largest entry, five times and then, at most thirty
/// times in all, until each of these is within about a factor of two of 1. Empty rows: 1.
/// Equal for rows and columns when the matrix is symmetric.
///
/// @par Cost  O(n + nonzeros) a time
[[nodiscard]] ScalingLogs equilibration(const GeneralMatrix& matrix);

/// Adds a number to all logarithms of rows and takes it from those of columns, so that
/// the largest modulus of either is least: what is scaled is the same, and
/// powers_of_two() cuts off less.
void balance(std::span<double> row_log, std::span<double> column_log);

/// Logarithm of the one factor that brings the largest modulus to 1, where that is beyond
/// 1e15 or below 1e-15: single precision has such entries, their squares and products
/// then. Else 0.
[[nodiscard]] double uniform_log(std::span<const double> values);

/// d_ii^(-1/2): a diagonal of ones. 1 where the diagonal is not positive.
[[nodiscard]] std::vector<double> unit_diagonal_logs(const SymmetricMatrix& matrix);

/// Largest over smallest modulus of the diagonal; infinite with a zero on it; 1 at order
/// 0.
[[nodiscard]] double diagonal_spread(const SymmetricMatrix& matrix);

}  // namespace espalier::solver
