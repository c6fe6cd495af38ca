#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solver/complex/complex_solver.h"
#include "solver/matrix/complex_matrix.h"

namespace espalier::solver {

/// Componentwise backward error of solutions of op(A) x = b in complex arithmetic, of the
/// system as it was given: BackwardError::total() (residual.h) with moduli of complex
/// numbers, all rows taken for one system. It is at most sqrt(2) times that of the real
/// form's rows, whose denominators |b y| + |c z| are no larger than |a| |x|.
///
/// All its memory is there from the start: 32 bytes a row.
class ComplexErrorMeasure {
 public:
  /// @param matrix  outlives this
  /// @param left    rows and columns that are left out; empty: none
  explicit ComplexErrorMeasure(const ComplexMatrix& matrix,
                               std::span<const std::int32_t> left = {});

  /// Infinite when anything is not finite.
  /// @par Cost  8 flops an entry and three moduli; the matrix is read once
  [[nodiscard]] double operator()(ComplexOperation operation, std::span<const Complex> x,
                                  std::span<const Complex> b);

  /// y := op(A) x, over all rows and columns.
  void multiply(ComplexOperation operation, std::span<const Complex> x,
                std::span<Complex> y) const;

 private:
  [[nodiscard]] bool is_left(std::int32_t i) const { return !left_.empty() && left_[i]; }

  const ComplexMatrix& matrix_;
  std::vector<bool> left_;
  std::vector<Complex> residual_;
  std::vector<double> row_sum_, denominator_;
};

}  // namespace espalier::solver
