#pragma once

#include <cstdint>
#include <vector>

#include "solver/matrix/sparse_matrix.h"

namespace espalier::solver {

/// Entries of a lower triangle in the order in which they came: row >= column, from 0.
struct Triplets {
  std::vector<std::int32_t> row, column;
  std::vector<double> value;
  bool sorted = true;  ///< so far by columns, rows increasing, no entry twice

  void reserve(std::int64_t entries);
  void append(std::int32_t row, std::int32_t column, double value);
};

/// The matrix of the triplets; the values of an entry given several times are added in
/// the order in which they came.
///
/// @par Cost  O(n + entries) and a sort of columns that are out of order
/// @par Memory  none beside the triplets when they are sorted; else 8 bytes an entry
[[nodiscard]] SymmetricMatrix assemble(std::int32_t size, Triplets&& triplets);

}  // namespace espalier::solver
