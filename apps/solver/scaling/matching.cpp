#include "solver/scaling/matching.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "solver/scaling/product_assignment.h"

namespace espalier::solver {
namespace {

constexpr std::int32_t kNoLargest = -1;

// The row of a column's largest entry, the diagonal where it is one of them; kNoLargest
// where there is no nonzero or one that is not finite.
std::int32_t row_of_largest(const GeneralMatrix& matrix, std::int32_t column) {
  double most = 0;
  std::int32_t row = kNoLargest;
  for (auto at = matrix.column_start[column]; at < matrix.column_start[column + 1];
       ++at) {
    const double size = std::abs(matrix.value[at]);
    if (!std::isfinite(size)) return kNoLargest;
    if (size > most || (size == most && most > 0 && matrix.row[at] == column)) {
      most = size;
      row = matrix.row[at];
    }
  }
  return row;
}

// Where the largest entries of the columns stand in rows of their own no matching has a
// larger product, and one over them scales the columns: the rows need nothing.
std::optional<Matching> matching_of_largest(const GeneralMatrix& matrix) {
  const auto size = static_cast<std::size_t>(matrix.size);
  Matching matching;
  matching.row_of_column.resize(size);
  std::vector<bool> row_taken(size, false);
  for (std::int32_t column = 0; column < matrix.size; ++column) {
    const std::int32_t row = row_of_largest(matrix, column);
    if (row == kNoLargest || row_taken[row]) return std::nullopt;
    row_taken[row] = true;
    matching.row_of_column[column] = row;
  }
  matching.matched.assign(size, true);
  matching.rank = matrix.size;
  matching.row_log.assign(size, 0.0);
  matching.column_log.reserve(size);
  for (std::int32_t column = 0; column < matrix.size; ++column) {
    double most = 0;
    for (auto at = matrix.column_start[column]; at < matrix.column_start[column + 1];
         ++at)
      most = std::max(most, std::abs(matrix.value[at]));
    matching.column_log.push_back(-std::log2(most));
  }
  return matching;
}

template <class Matrix>
bool has_diagonal(const Matrix& matrix) {
  std::int32_t count = 0;
  for (std::int32_t column = 0; column < matrix.size; ++column)
    for (auto at = matrix.column_start[column]; at < matrix.column_start[column + 1];
         ++at)
      count += matrix.row[at] == column && matrix.value[at] != 0;
  return count == matrix.size;
}

}  // namespace

Matching maximum_product_matching(const GeneralMatrix& matrix,
                                  const std::function<void()>& ask) {
  if (auto simple = matching_of_largest(matrix)) return *std::move(simple);
  return ProductAssignment(matrix, ask).result();
}

std::int32_t structural_rank(const GeneralMatrix& matrix,
                             const std::function<void()>& ask) {
  return has_diagonal(matrix) ? matrix.size : maximum_product_matching(matrix, ask).rank;
}

std::int32_t structural_rank(const SymmetricMatrix& matrix,
                             const std::function<void()>& ask) {
  return has_diagonal(matrix) ? matrix.size
                              : maximum_product_matching(expanded(matrix), ask).rank;
}

template <class Matrix>
std::int32_t pattern_rank(const Matrix& matrix, std::int32_t rank,
                          const std::function<void()>& ask) {
  if (rank == matrix.size || std::ranges::find(matrix.value, 0.0) == matrix.value.end())
    return rank;
  Matrix pattern = matrix;
  std::ranges::fill(pattern.value, 1.0);
  return structural_rank(pattern, ask);
}
template std::int32_t pattern_rank(const GeneralMatrix&, std::int32_t,
                                   const std::function<void()>&);
template std::int32_t pattern_rank(const SymmetricMatrix&, std::int32_t,
                                   const std::function<void()>&);

}  // namespace espalier::solver
