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
  constexpr std::int64_t kFew = 16;  // entries in which a loop finds sooner
  const auto [low, high] = std::minmax(row, column);
  std::int64_t at = lower.column_start[low];
  const std::int64_t last = lower.column_start[low + 1];
  const std::int32_t* const rows = lower.row.data();
  if (last - at > kFew)
    at = std::lower_bound(rows + at, rows + last, high) - rows;
  else
    while (at < last && rows[at] < high) ++at;
  return at == last || rows[at] != high ? -1 : at;
}

/// The same where both triangles are stored.
/// @par Cost  O(nonzeros of the column)
[[nodiscard]] inline std::int64_t find_entry(const GeneralMatrix& matrix,
                                             std::int32_t row, std::int32_t column) {
  const auto first = matrix.row.begin() + matrix.column_start[column];
  const auto last = matrix.row.begin() + matrix.column_start[column + 1];
  const auto found = std::find(first, last, row);
  return found == last ? -1 : found - matrix.row.begin();
}

}  // namespace espalier::solver
