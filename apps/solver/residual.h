#pragma once

#include <span>
#include <vector>

#include "solver/linear_operator.h"
#include "solver/matrix_part.h"

namespace espalier::solver {

// Of a matrix that is spread over processes everything here is collective; arguments and
// results are the same bits at each of them.

/// y := op(A) x, in double precision.
/// @par Cost  2 flops an entry; the matrix is read once
void multiply(const MatrixPart& a, Operation operation, std::span<const double> x,
              std::span<double> y);

/// r := b - op(A) x, in double precision.
void residual(const MatrixPart& a, Operation operation, std::span<const double> x,
              std::span<const double> b, std::span<double> r);

/// bound_i := (k_i + 1) u (|op(A)| |x| + |b|)_i with k_i the entries of row i: no less
/// than the rounding error of residual(), to first order [Hig02, section 3.5].
void residual_rounding(const MatrixPart& a, Operation operation,
                       std::span<const double> x, std::span<const double> b,
                       std::span<double> bound);

/// Componentwise backward error of an x [OP64, ADD89]: with r = b - A x and
/// w = |A| |x| + |b|,
///   omega1 = max |r_i| / w_i                                  over the rows of class 1
///   omega2 = max |r_i| / ( (|A||x|)_i + ||A_i||_inf ||x||_inf )   over the others.
/// Class 1 are the rows with w_i > 1000 n u ( ||A_i||_inf ||x||_inf + |b_i| ), where
/// ||A_i||_inf is the sum of the moduli of row i: the others have so small a w_i that r_i
/// is rounding alone. x solves a system (A + E) x = b + f with |E| <= total() |A| and
/// |f| <= total() |b| in the rows of class 1, and |f_i| <= omega2 ||A_i||_inf ||x||_inf
/// in the others.
///
/// Scaling of rows and permutations change neither value; scaling of columns changes
/// only which rows are of class 1. So the error of a solution of the scaled and permuted
/// system is that of the solution of the system that was given.
struct BackwardError {
  double omega1 = 0;
  double omega2 = 0;
  [[nodiscard]] double total() const { return omega1 + omega2; }
};

/// Measures solutions of op(A) x = b. Keeps two vectors as long as x.
class ErrorMeasure {
 public:
  /// @param a  what it refers to outlives this
  ErrorMeasure(const MatrixPart& a, Operation operation);

  /// r := b - op(A) x, and the error. Infinite when anything is not finite.
  ///
  /// @par Cost  4 flops an entry; the matrix is read once
  BackwardError operator()(std::span<const double> x, std::span<const double> b,
                           std::span<double> r);

  /// What |r_i| was divided by in the last call; not negative.
  [[nodiscard]] std::span<const double> denominators() const { return denominator_; }

  [[nodiscard]] const MatrixPart& matrix() const { return a_; }
  [[nodiscard]] Operation operation() const { return operation_; }

 private:
  MatrixPart a_;
  Operation operation_;
  std::vector<double> row_sum_;  // of |op(A)|
  std::vector<double> denominator_;
};

}  // namespace espalier::solver
