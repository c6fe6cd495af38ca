#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solver/matrix/linear_operator.h"
#include "solver/scaling/prepare.h"
#include "solver/symbolic/block_form.h"
#include "solver/symbolic/symbolic.h"

namespace espalier::solver {

/// Vectors of the system that was given (outer: op(A) x = b) and of the one that is
/// solved (inner: op(B) y = c, B = Q P Dr A Dc Q^T scaled, permuted and in elimination
/// order).
class ScaledPermutation {
 public:
  ScaledPermutation(const PreparedMatrix& prepared, const Symbolic& symbolic,
                    Operation operation)
      : prepared_(prepared),
        permutation_(symbolic.permutation),
        transposed_(operation == Operation::kTransposed) {}

  /// c from b; b from c.
  void rhs_to_inner(std::span<const double> b, std::span<double> c) const;
  void rhs_to_outer(std::span<const double> c, std::span<double> b) const;
  /// y from x; x from y.
  void solution_to_inner(std::span<const double> x, std::span<double> y) const;
  void solution_to_outer(std::span<const double> y, std::span<double> x) const;
  /// Places in c of the given rows of b, increasing.
  [[nodiscard]] std::vector<std::int32_t> inner_rows(
      std::span<const std::int64_t> rows) const;
  /// What y is multiplied by to become x, in the order of y; empty: ones.
  [[nodiscard]] std::vector<double> solution_scale() const;
  /// Diagonals of Dr and Dc in elimination order.
  [[nodiscard]] std::vector<double> inner_row_scale() const;
  [[nodiscard]] std::vector<double> inner_column_scale() const;

 private:
  // Where inner entry k of a row-like or column-like vector stands in the given system,
  // and what it is multiplied by to become inner.
  [[nodiscard]] std::int32_t row(std::int32_t k) const {
    const std::int32_t i = permutation_[k];
    return prepared_.row_of.empty() ? i : prepared_.row_of[i];
  }
  [[nodiscard]] double row_scale(std::int32_t i) const {
    return prepared_.row_scale.empty() ? 1 : prepared_.row_scale[i];
  }
  [[nodiscard]] double column_scale(std::int32_t j) const {
    return prepared_.column_scale.empty() ? 1 : prepared_.column_scale[j];
  }

  const PreparedMatrix& prepared_;
  std::span<const std::int32_t> permutation_;
  bool transposed_;
};

/// Which of the independent systems each column, in elimination order, belongs to, from
/// 0: those whose matrices have no entry in common rows or columns. Empty: there is one.
[[nodiscard]] std::vector<std::int32_t> independent_systems(const Symbolic& symbolic);
/// The same of a matrix in block form: blocks that are coupled are one system.
[[nodiscard]] std::vector<std::int32_t> independent_systems(const Symbolic& symbolic,
                                                            const BlockForm& form);

}  // namespace espalier::solver
