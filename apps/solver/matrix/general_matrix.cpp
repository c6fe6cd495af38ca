#include "solver/matrix/general_matrix.h"

#include <algorithm>
#include <utility>

#include "solver/matrix/offsets.h"

namespace espalier::solver {
namespace {

// Appends the two sides of column `column` of a matrix and its transposed, both sorted:
// entries from the diagonal down.
void append_column(SquareMatrix& result, const GeneralMatrix& matrix,
                   const GeneralMatrix& across, std::int32_t column) {
  const std::int32_t size = matrix.size;
  const auto first = [column](const GeneralMatrix& a) {
    return std::lower_bound(a.row.begin() + a.column_start[column],
                            a.row.begin() + a.column_start[column + 1], column) -
           a.row.begin();
  };
  std::int64_t below = first(matrix), above = first(across);
  const std::int64_t below_end = matrix.column_start[column + 1];
  const std::int64_t above_end = across.column_start[column + 1];
  while (below < below_end || above < above_end) {
    const std::int32_t row = std::min(below < below_end ? matrix.row[below] : size,
                                      above < above_end ? across.row[above] : size);
    const bool has_below = below < below_end && matrix.row[below] == row;
    const bool has_above = above < above_end && across.row[above] == row;
    result.lower.row.push_back(row);
    result.lower.value.push_back(has_below ? matrix.value[below++] : 0);
    result.upper.push_back(has_above ? across.value[above++] : 0);
  }
  result.lower.column_start.push_back(static_cast<std::int64_t>(result.upper.size()));
}

}  // namespace

std::int32_t order_of(const InputMatrix& matrix) {
  return std::visit([](const auto& each) { return each.size; }, matrix);
}

GeneralMatrix transposed(const GeneralMatrix& matrix) {
  GeneralMatrix result;
  result.size = matrix.size;
  result.column_start.assign(matrix.size + 1LL, 0);
  for (std::int32_t row : matrix.row) ++result.column_start[row + 1];
  counts_to_starts(result.column_start);
  result.row.resize(matrix.row.size());
  result.value.resize(matrix.value.size());
  for (std::int32_t column = 0; column < matrix.size; ++column) {
    for (auto at = matrix.column_start[column]; at < matrix.column_start[column + 1];
         ++at) {
      const std::int64_t to = result.column_start[matrix.row[at]]++;
      result.row[to] = column;
      result.value[to] = matrix.value[at];
    }
  }
  cursors_to_starts(result.column_start);
  return result;
}

GeneralMatrix joined(SymmetricMatrix&& lower, SymmetricMatrix&& upper) {
  const std::int32_t size = lower.size;
  GeneralMatrix above = transposed(GeneralMatrix{
      size, std::move(upper.column_start), std::move(upper.row), std::move(upper.value)});
  GeneralMatrix result;
  result.size = size;
  result.column_start.assign(1, 0);
  result.row.reserve(lower.row.size() + above.row.size());
  result.value.reserve(lower.row.size() + above.row.size());
  const auto append = [&result](const auto& part, std::int32_t column) {
    const auto start = part.column_start[column], end = part.column_start[column + 1];
    result.row.insert(result.row.end(), part.row.begin() + start, part.row.begin() + end);
    result.value.insert(result.value.end(), part.value.begin() + start,
                        part.value.begin() + end);
  };
  for (std::int32_t column = 0; column < size; ++column) {
    append(above, column);
    append(lower, column);
    result.column_start.push_back(static_cast<std::int64_t>(result.row.size()));
  }
  lower = {};
  return result;
}

// Column by column: what a column has above its diagonal comes from those before it.
GeneralMatrix expanded(const SymmetricMatrix& matrix) {
  GeneralMatrix result;
  result.size = matrix.size;
  std::vector<std::int64_t>& start = result.column_start;
  start.assign(matrix.size + 1LL, 0);
  for (std::int32_t column = 0; column < matrix.size; ++column)
    for (auto at = matrix.column_start[column]; at < matrix.column_start[column + 1];
         ++at) {
      ++start[column + 1];
      if (matrix.row[at] != column) ++start[matrix.row[at] + 1];
    }
  counts_to_starts(start);
  result.row.resize(static_cast<std::size_t>(start.back()));
  result.value.resize(result.row.size());
  const auto put = [&](std::int32_t row, std::int32_t column, double value) {
    const std::int64_t to = start[column]++;
    result.row[to] = row;
    result.value[to] = value;
  };
  for (std::int32_t column = 0; column < matrix.size; ++column)
    for (auto at = matrix.column_start[column]; at < matrix.column_start[column + 1];
         ++at) {
      put(matrix.row[at], column, matrix.value[at]);
      if (matrix.row[at] != column) put(column, matrix.row[at], matrix.value[at]);
    }
  cursors_to_starts(start);
  return result;
}

std::optional<TriangleDifference> first_difference(const SymmetricMatrix& lower,
                                                   const SymmetricMatrix& upper) {
  const std::int32_t size = lower.size;
  for (std::int32_t column = 0; column < size; ++column) {
    auto below = lower.column_start[column], above = upper.column_start[column];
    const auto below_end = lower.column_start[column + 1];
    const auto above_end = upper.column_start[column + 1];
    if (below < below_end && lower.row[below] == column) ++below;
    while (below < below_end || above < above_end) {
      const std::int32_t row = std::min(below < below_end ? lower.row[below] : size,
                                        above < above_end ? upper.row[above] : size);
      const bool has_below = below < below_end && lower.row[below] == row;
      const bool has_above = above < above_end && upper.row[above] == row;
      const double a = has_below ? lower.value[below++] : 0;
      const double b = has_above ? upper.value[above++] : 0;
      if (a != b) return TriangleDifference{row, column, a, b};
    }
  }
  return std::nullopt;
}

InputMatrix from_triangles(SymmetricMatrix&& lower, SymmetricMatrix&& upper) {
  if (!first_difference(lower, upper)) return std::move(lower);
  return joined(std::move(lower), std::move(upper));
}

GeneralMatrix skew_symmetric(SymmetricMatrix&& lower) {
  SymmetricMatrix upper = lower;
  for (double& value : upper.value) value = -value;
  return joined(std::move(lower), std::move(upper));
}

bool has_sorted_columns(const GeneralMatrix& matrix) {
  for (std::int32_t column = 0; column < matrix.size; ++column)
    for (auto at = matrix.column_start[column] + 1; at < matrix.column_start[column + 1];
         ++at)
      if (matrix.row[at] < matrix.row[at - 1]) return false;
  return true;
}

bool is_diagonal(const GeneralMatrix& matrix) {
  for (std::int32_t column = 0; column < matrix.size; ++column)
    for (auto at = matrix.column_start[column]; at < matrix.column_start[column + 1];
         ++at)
      if (matrix.row[at] != column) return false;
  return true;
}

SquareMatrix symmetrised(GeneralMatrix&& matrix) {
  if (!is_diagonal(matrix)) return symmetrised(std::as_const(matrix));
  SquareMatrix result;
  result.upper = matrix.value;
  result.lower = {matrix.size, std::move(matrix.column_start), std::move(matrix.row),
                  std::move(matrix.value)};
  return result;
}

SquareMatrix symmetrised(const GeneralMatrix& matrix) {
  if (is_diagonal(matrix)) return symmetrised(GeneralMatrix(matrix));
  SquareMatrix result;
  result.lower.size = matrix.size;
  const GeneralMatrix across = transposed(matrix);
  const bool sorted = has_sorted_columns(matrix);
  const GeneralMatrix again = sorted ? GeneralMatrix{} : transposed(across);
  result.lower.column_start.assign(1, 0);
  result.lower.column_start.reserve(matrix.column_start.size());
  result.lower.row.reserve(matrix.row.size());  // at most
  result.lower.value.reserve(matrix.row.size());
  result.upper.reserve(matrix.row.size());
  for (std::int32_t column = 0; column < matrix.size; ++column) {
    append_column(result, sorted ? matrix : again, across, column);
  }
  return result;
}

}  // namespace espalier::solver
