#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "solver/scaling/prepare.h"

namespace espalier::solver {

/// Where entries of A stand in the matrix that is factored, and with which value.
class Places {
 public:
  /// @param prepared  outlives this
  /// @param order     Symbolic::permutation of the analysis; empty: none
  Places(std::int32_t size, const PreparedMatrix& prepared,
         std::span<const std::int32_t> order);

  template <class T>
  [[nodiscard]] Placed<T> operator()(std::int32_t row, std::int32_t column,
                                     T value) const {
    if (!prepared_.row_scale.empty())
      value *= prepared_.row_scale[row] * prepared_.column_scale[column];
    return {place_of_row_[row], place_of_column_[column], row, column, value};
  }

 private:
  const PreparedMatrix& prepared_;
  std::vector<std::int32_t> place_of_column_, place_of_row_;  // of A's
};

/// Index in a lower triangle of the entry (row, column), or of the one opposite.
/// @return -1: outside the pattern
/// @par Cost  O(log(nonzeros of a column))
[[nodiscard]] inline std::int64_t find_entry(const SymmetricMatrix& lower,
                                             std::int32_t row, std::int32_t column) {
  const auto [low, high] = std::minmax(row, column);
  const auto first = lower.row.begin() + lower.column_start[low];
  const auto last = lower.row.begin() + lower.column_start[low + 1];
  const auto found = std::lower_bound(first, last, high);
  return found == last || *found != high ? -1 : found - lower.row.begin();
}

}  // namespace espalier::solver
