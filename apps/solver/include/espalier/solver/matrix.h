#pragma once

#include <complex>
#include <cstdint>
#include <variant>
#include <vector>

namespace espalier::solver {

/// A real symmetric matrix of order `size`: the lower triangle by compressed columns.
/// Rows of a column are strictly increasing and >= the column; a diagonal entry may be
/// missing (then it is zero).
struct SymmetricMatrix {
  std::int32_t size = 0;
  std::vector<std::int64_t> column_start;  ///< size + 1 offsets
  std::vector<std::int32_t> row;
  std::vector<double> value;
};

/// A real square matrix of order `size` by compressed columns. Rows of a column are
/// strictly increasing; what is not stored is zero.
struct GeneralMatrix {
  std::int32_t size = 0;
  std::vector<std::int64_t> column_start;  ///< size + 1 offsets
  std::vector<std::int32_t> row;
  std::vector<double> value;
};

/// A matrix as it is given.
using InputMatrix = std::variant<SymmetricMatrix, GeneralMatrix>;

using Complex = std::complex<double>;

enum class ComplexSymmetry : std::int8_t {
  kGeneral,
  kSymmetric,  ///< A^T = A
  kHermitian,  ///< A^H = A
};

/// A complex square matrix of order `size` by compressed columns, rows of a column
/// strictly increasing: every nonzero, or of a symmetric or Hermitian one the lower
/// triangle with the diagonal.
struct ComplexMatrix {
  ComplexSymmetry symmetry = ComplexSymmetry::kGeneral;
  std::int32_t size = 0;
  std::vector<std::int64_t> column_start;  ///< size + 1 offsets
  std::vector<std::int32_t> row;
  std::vector<Complex> value;
};

/// How a matrix is factored.
enum class FactorKind : std::int8_t {
  kCholesky,  ///< L L^T: symmetric positive definite
  kLdlt,      ///< L D L^T with 1 x 1 and 2 x 2 pivots: symmetric
  kLu,        ///< L U on a symmetric pattern
};

enum class Precision : std::int8_t { kDouble, kSingle };

/// op(A): the matrix itself or its transpose.
enum class Operation : std::int8_t { kPlain, kTransposed };

}  // namespace espalier::solver
