#pragma once

#include <cstdint>
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

/// A real square matrix on a symmetric pattern: its lower triangle and, where it is not
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

  [[nodiscard]] bool symmetric() const { return upper.empty(); }
  [[nodiscard]] std::int32_t size() const { return lower.size; }
};

}  // namespace espalier::solver
