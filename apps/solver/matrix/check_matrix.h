#pragma once

#include <cstdint>
#include <span>

#include "solver/matrix/general_matrix.h"

namespace espalier::solver {

/// A matrix by compressed columns as somebody hands it in, before anything of it is
/// trusted.
struct MatrixView {
  std::int32_t order = 0;
  bool symmetric = false;  ///< the lower triangle, with the diagonal
  std::span<const std::int64_t> column_start;
  std::span<const std::int32_t> rows;
  std::span<const double> values;
};

[[nodiscard]] MatrixView view_of(const InputMatrix& matrix);

/// What every entrance to the solver asks of a matrix, in C and in C++.
/// @throws InvalidInput naming the column or the entry: order >= 0; column_start with
///         order + 1 offsets from 0 on, none falling; rows and values as many as the last
///         offset says; rows strictly increasing in each column and in range, of a
///         symmetric matrix from the diagonal on; values finite
/// @par Cost  O(n + nonzeros)
void check(const MatrixView& matrix);
/// Only the offsets, so that `rows` and `values` need not be known yet.
void check_columns(std::int32_t order, std::span<const std::int64_t> column_start);

/// @throws InvalidInput when there are fewer than no right-hand sides
void check_count(std::int32_t nrhs);
/// @throws InvalidInput the same, and when there are not order · nrhs entries
void check_count(std::int32_t order, std::int32_t nrhs, std::size_t entries);
/// Right-hand sides, one after the other.
/// @throws InvalidInput when there are not order · nrhs entries, or one is not finite
void check_vectors(std::int32_t order, std::int32_t nrhs,
                   std::span<const double> vectors);
/// Where right-hand sides may have entries. @throws InvalidInput naming the first that is
///         out of range or does not increase
void check_rows(std::int32_t order, std::span<const std::int64_t> rows);

/// @throws InvalidInput naming the first that is out of range or there twice
void check_permutation(std::span<const std::int32_t> order, const char* name);
/// The same of an order that may be left out, of so many columns.
void check_given_order(std::span<const std::int32_t> order, std::int32_t size,
                       const char* name);

}  // namespace espalier::solver
