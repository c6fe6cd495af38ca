#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solver/matrix/linear_operator.h"
#include "solver/scaling/prepare.h"
#include "solver/symbolic/block_form.h"
#include "solver/symbolic/symbolic.h"

namespace espalier::solver {

/// A number of a solution as it is given out: zero is +0. Which sign it is computed with
/// depends on what was skipped for want of entries.
[[nodiscard]] constexpr double without_sign_of_zero(double x) { return x + 0.0; }

/// Vectors of the system that was given (outer: op(A) x = b) and of the one that is
/// solved (inner: op(B) y = c, B = Q P Dr A Dc Q^T scaled, permuted and in elimination
/// order).
class ScaledPermutation {
 public:
  /// @param parts  real numbers in an entry of a vector, which stand one after the other
  ScaledPermutation(const PreparedMatrix& prepared, const Symbolic& symbolic,
                    Operation operation, std::int32_t parts = 1)
      : prepared_(prepared),
        permutation_(symbolic.permutation),
        transposed_(operation == Operation::kTransposed),
        parts_(parts) {}

  /// c from b; b from c.
  void rhs_to_inner(std::span<const double> b, std::span<double> c) const;
  void rhs_to_outer(std::span<const double> c, std::span<double> b) const;
  /// y from x; x from y, without_sign_of_zero().
  void solution_to_inner(std::span<const double> x, std::span<double> y) const;
  void solution_to_outer(std::span<const double> y, std::span<double> x) const;
  /// Between the parts of a factor: entries of rows of A where they stand inside, without
  /// a scale.
  void rows_to_inner(std::span<const double> b, std::span<double> c) const;
  void rows_to_outer(std::span<const double> c, std::span<double> b) const;
  /// Places in c of the given rows of b, increasing; empty: anywhere, as of more than one
  /// row in kFewRows, which are no help.
  static constexpr std::int64_t kFewRows = 8;
  [[nodiscard]] std::vector<std::int32_t> inner_rows(
      std::span<const std::int64_t> rows) const;
  /// What y is multiplied by to become x, in the order of y, for each of its parts;
  /// empty: ones.
  [[nodiscard]] std::vector<double> solution_scale() const;
  /// Diagonals of Dr and Dc in elimination order, likewise.
  [[nodiscard]] std::vector<double> inner_row_scale() const;
  [[nodiscard]] std::vector<double> inner_column_scale() const;

 private:
  // Calls take(k, j, at) with number k of an inner vector, a part of its entry j; at(i)
  // is where that part of entry i stands in a vector of the given system.
  template <class Take>
  void for_each_number(const Take& take) const {
    parts_ == 1 ? take_numbers<1>(take) : take_numbers<2>(take);
  }
  template <std::int32_t kParts, class Take>
  void take_numbers(const Take& take) const {
    const auto size = static_cast<std::int32_t>(permutation_.size());
    for (std::int32_t j = 0; j < size; ++j)
      for (std::int32_t part = 0; part < kParts; ++part)
        take(kParts * j + part, j, [part](std::int32_t i) { return kParts * i + part; });
  }
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
  std::int32_t parts_;
};

/// Which of the independent systems each column, in elimination order, belongs to, from
/// 0: those whose matrices have no entry in common rows or columns. Empty: there is one.
[[nodiscard]] std::vector<std::int32_t> independent_systems(const Symbolic& symbolic);
/// The same of a matrix in block form: blocks that are coupled are one system.
[[nodiscard]] std::vector<std::int32_t> independent_systems(const Symbolic& symbolic,
                                                            const BlockForm& form);

}  // namespace espalier::solver
