#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <vector>

#include "espalier/model/units.h"
#include "espalier/solver/matrix.h"
#include "solver/matrix/entry.h"

namespace espalier::solver {

/// A square matrix on a symmetric pattern: its lower triangle and, where it is not
/// symmetric, what stands opposite each entry. What is factored has this form: an
/// unsymmetric matrix on the pattern of A + A^T, with zeros where A has none.
///
///   1 2 .      lower: column 0: (0) 1 (1) 4   column 1: (1) 5 (2) 0   column 2: (2) 7
///   4 5 6      upper:               1     2                 5     6                 7
///   . . 7
struct SquareMatrix {
  SymmetricMatrix lower;
  /// Empty: symmetric. Otherwise as long as lower.value: the value at (j, i) for the
  /// entry (i, j) of `lower`; on the diagonal the same value again.
  std::vector<double> upper;
  /// None: the matrix is real, as are the values. Otherwise those are real parts, and
  /// these the imaginary ones; of a Hermitian matrix what stands opposite is conjugated.
  std::optional<ComplexSymmetry> complex = {};
  std::vector<double> lower_imaginary = {}, upper_imaginary = {};

  [[nodiscard]] bool symmetric() const { return upper.empty(); }
  [[nodiscard]] bool hermitian() const { return complex == ComplexSymmetry::kHermitian; }
  [[nodiscard]] std::int32_t size() const { return lower.size; }
  /// Real numbers in an entry.
  [[nodiscard]] std::int32_t parts() const { return complex ? 2 : 1; }
  /// Of vectors that are multiplied with it: real and imaginary parts in turn.
  [[nodiscard]] std::int32_t vector_size() const { return parts() * lower.size; }

  /// Of all that it holds.
  [[nodiscard]] Bytes bytes() const {
    const auto of = [](const auto& list) {
      return static_cast<Bytes>(list.size() * sizeof(list[0]));
    };
    return of(lower.column_start) + of(lower.row) + of(lower.value) + of(upper) +
           of(lower_imaginary) + of(upper_imaginary);
  }

  /// The entry number k of `lower`, as a number of type T; then that of `upper`.
  template <class T>
  [[nodiscard]] T entry(std::int64_t k) const {
    return number<T>(lower.value, lower_imaginary, k);
  }
  /// Of a matrix that is not symmetric only.
  template <class T>
  [[nodiscard]] T upper_entry(std::int64_t k) const {
    return number<T>(upper, upper_imaginary, k);
  }
  /// What stands opposite, symmetric or not.
  template <class T>
  [[nodiscard]] T opposite(std::int64_t k) const {
    if (!symmetric()) return upper_entry<T>(k);
    const T own = entry<T>(k);
    if constexpr (kIsComplex<T>)
      return hermitian() ? T(own.real(), -own.imag()) : own;
    else
      return own;
  }

 private:
  template <class T>
  [[nodiscard]] static T number(const std::vector<double>& real,
                                const std::vector<double>& imaginary, std::int64_t k) {
    using Real = RealOf<T>;
    if constexpr (kIsComplex<T>)
      return T(static_cast<Real>(real[k]), static_cast<Real>(imaginary[k]));
    else
      return static_cast<T>(real[k]);
  }
};

}  // namespace espalier::solver
