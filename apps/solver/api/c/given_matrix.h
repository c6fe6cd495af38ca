#pragma once

// Matrices of the C interface in the form that the caller has them in.

#include <cstdint>
#include <vector>

#include "espalier_solver.h"
#include "solver/matrix/general_matrix.h"

namespace espalier::solver::c_api {

/// The caller's struct, whatever its version. @throws InvalidInput naming what cannot be
[[nodiscard]] espalier_solver_input given_input(const espalier_solver_input& given);

/// Of each entry whether its row is before its column. @param input  of which a
/// GivenMatrix was made
[[nodiscard]] std::vector<bool> entries_above_diagonal(
    const espalier_solver_input& input);

/// The pattern of a caller's matrix as the solver wants it, compressed columns with
/// increasing rows, and where each of his entries goes. It stays with the solver, so that
/// other values need no pattern. Elements are triplets that are not written out.
///
///     triplets (row column value)  (1 0 a) (0 0 b) (1 0 c), symmetric
///     columns                      0: rows 0 1
///     place                        1 0 1, so that the values are b, a + c
///
///     elements {0 1} and {2 1}     values a b c, d e f: lower triangles, symmetric
///     columns                      0: rows 0 1;  1: rows 1 2;  2: row 2
///     values                       a b;  c + f, e;  d
class GivenMatrix {
 public:
  /// Copies the pattern. Rows of a general matrix are not transposed but taken for the
  /// columns of the transposed matrix.
  /// @throws InvalidInput naming the field, the entry and the value that cannot be; for
  ///         a symmetric matrix given as a whole, two entries that are not equal
  /// @par Cost  O(n + entries), and a sort of columns out of order
  /// @par Memory  entries in order, of a general matrix or of one triangle, need no table
  ///         of places; others 8 bytes each
  /// @par Test  GivenMatrix.*
  explicit GivenMatrix(const espalier_solver_input& input);

  /// The matrix with these values, in the order of the caller's entries; of those given
  /// twice the sum. @throws InvalidInput naming the first entry that is not finite, or as
  /// the constructor
  [[nodiscard]] InputMatrix with_values(const double* values) const;

  /// Whether it is the caller's matrix transposed that with_values() gives.
  [[nodiscard]] bool transposed() const { return transposed_; }
  /// Values of the caller.
  [[nodiscard]] std::int64_t entries() const { return given_; }

 private:
  template <class Index>
  void read(const espalier_solver_input& input);
  template <class Index>
  void sort(const espalier_solver_input& input);
  void halve();
  [[nodiscard]] bool is_symmetric(const double* values) const;

  std::int32_t order_ = 0;
  std::int64_t given_ = 0;
  bool transposed_ = false;
  bool symmetric_ = false;  // what follows is the lower triangle
  bool whole_ = false;      // of which the caller gives both
  std::vector<std::int64_t> column_start_;
  std::vector<std::int32_t> row_;
  // Of each entry of the caller its index in row_, or, of one above the diagonal of a
  // symmetric matrix given as a whole, ~index of the one opposite. Empty: all in order.
  std::vector<std::int64_t> place_;
};

}  // namespace espalier::solver::c_api
