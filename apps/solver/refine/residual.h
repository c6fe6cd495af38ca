#pragma once

#include <optional>
#include <span>
#include <vector>

#include "solver/matrix/linear_operator.h"
#include "solver/matrix/matrix_part.h"

namespace espalier::solver {

// Vectors of complex numbers are real and imaginary parts in turn; where moduli of
// entries come out they are there for each part. A transposed complex matrix is A^H.
//
// Of a matrix that is spread over processes everything here is collective; arguments and
// results are the same bits at each of them.

/// Ones, of a complex matrix real ones: moduli are summed with them.
[[nodiscard]] std::vector<double> ones(const SquareMatrix& a);

/// y := op(A) x, in double precision.
/// @par Cost  2 flops an entry; the matrix is read once
void multiply(const MatrixPart& a, Operation operation, std::span<const double> x,
              std::span<double> y);

/// y := |op(A)| |x|, likewise.
void multiply_moduli(const MatrixPart& a, Operation operation, std::span<const double> x,
                     std::span<double> y);

/// r := b - op(A) x, in double precision.
void residual(const MatrixPart& a, Operation operation, std::span<const double> x,
              std::span<const double> b, std::span<double> r);

/// bound_i := (k_i + 1) u (|op(A)| |x| + |b|)_i with k_i the entries of row i: no less
/// than the rounding error of residual(), to first order [Hig02, section 3.5]. It may
/// be b.
void residual_rounding(const MatrixPart& a, Operation operation,
                       std::span<const double> x, std::span<const double> b,
                       std::span<double> bound);

/// How the unknowns x of the system that was given stand to the y of the one that is
/// worked on, which is scaled and permuted: x_j = scale_j y_j, exactly.
struct GivenUnknowns {
  std::span<const double> scale;  ///< positive, for each part of a number; empty: ones
  /// Which independent system each unknown, and the row of the same number, belongs to,
  /// from 0; empty: all to one.
  std::span<const std::int32_t> block;
  /// No entry of A has a larger modulus, where A is all here; 0: not known.
  double largest_entry = 0;
};

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
/// A, x and b are those of the system that was given, whatever scaled one is worked on:
/// scaling of rows changes nothing, that of columns is undone by GivenUnknowns. Where the
/// matrix falls into independent systems n and ||x||_inf are those of the row's own: a
/// large unknown excuses nothing that it has no part in. A row whose norms leave the
/// range of double precision is of class 1.
struct BackwardError {
  double omega1 = 0;
  double omega2 = 0;
  /// max |r_i| / w_i over the rows that are not of class 1: where it can be made small it
  /// should be, but where all that row i meets of x is zero it need not mean anything.
  double strict = 0;
  [[nodiscard]] double total() const { return omega1 + omega2; }
};

/// A backward error that takes one look at the matrix.
struct CleanError {
  double error;   ///< BackwardError::total(); strict is 0
  double x_norm;  ///< largest moduli
  double b_norm;
};

/// The error of an x of a real symmetric system that is given as it is worked on, where
/// every row is of class 1 even by the largest entry in place of the sum of its moduli.
/// Independent systems need not be told apart: what is of class 1 among all unknowns is
/// among its own.
///
/// @param largest  entry of A, by modulus
/// @param work     two vectors of room
/// @return none: a row is not of class 1, or something is not finite
/// @par Cost  4 flops an entry; nothing is allocated
/// @par Test  CleanError.IsThatOfErrorMeasureOrNone
[[nodiscard]] std::optional<CleanError> clean_error(const SymmetricMatrix& a,
                                                    double largest,
                                                    std::span<const double> x,
                                                    std::span<const double> b,
                                                    std::span<double> work);

/// Measures solutions of op(A) x = b. Keeps two vectors as long as x, and a norm for each
/// independent system. The sums of rows tell which class a row is of; they are added up
/// when the size of the largest entry does not yet tell it of all.
class ErrorMeasure {
 public:
  /// @param a      what it refers to outlives this
  /// @param given  of the unknowns of op(A); outlives this
  ErrorMeasure(const MatrixPart& a, Operation operation, const GivenUnknowns& given = {});

  /// r := b - op(A) x, and the error. Infinite when anything is not finite.
  ///
  /// @par Cost  4 flops an entry; the matrix is read once
  BackwardError operator()(std::span<const double> x, std::span<const double> b,
                           std::span<double> r);

  /// What |r_i| was divided by in the last call, for each part of r_i; not negative.
  [[nodiscard]] std::span<const double> denominators() const { return denominator_; }

  [[nodiscard]] const MatrixPart& matrix() const { return a_; }
  [[nodiscard]] Operation operation() const { return operation_; }

 private:
  template <class T>
  BackwardError measure(const T* x, const T* b, std::span<double> residual);
  template <class T>
  [[nodiscard]] bool all_are_large(const T* b);
  void add_up_rows();

  // An independent system.
  struct Block {
    double x_norm = 0;
    double small = 0;  // 1000 n u
  };

  [[nodiscard]] double scale(std::size_t j) const {
    return given_.scale.empty() ? 1 : given_.scale[j];
  }
  [[nodiscard]] Block& block(std::size_t i) {
    return blocks_[given_.block.empty() ? 0 : static_cast<std::size_t>(given_.block[i])];
  }

  MatrixPart a_;
  Operation operation_;
  GivenUnknowns given_;
  // Of |op(A)| as it was given, but for the rows' scaling; empty: not yet known, but no
  // more than most_.
  std::vector<double> row_sum_;
  double most_ = 0;
  std::vector<double> denominator_;
  std::vector<Block> blocks_;
};

}  // namespace espalier::solver
