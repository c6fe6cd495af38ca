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

}  // namespace espalier::solver
