#include "solver/matrix/triplets.h"

#include <utility>

#include "espalier/model/free_memory.h"
#include "solver/matrix/offsets.h"
#include "solver/matrix/permute.h"

namespace espalier::solver {
namespace {

// values[k] moves to the next free place of its column.
template <class Value>
std::vector<Value> grouped(std::vector<Value>&& values,
                           const std::vector<std::int32_t>& column,
                           std::vector<std::int64_t> next) {
  std::vector<Value> result(values.size());
  for (std::size_t k = 0; k < values.size(); ++k) result[next[column[k]]++] = values[k];
  free_memory(values);
  return result;
}

// Adds up neighbours of equal row and column.
void merge_duplicates(SymmetricMatrix& matrix) {
  std::int64_t kept = 0;
  std::int64_t at = 0;
  for (std::int32_t column = 0; column < matrix.size; ++column) {
    const std::int64_t end = matrix.column_start[column + 1];
    const std::int64_t first = kept;
    for (; at < end; ++at) {
      if (kept > first && matrix.row[kept - 1] == matrix.row[at]) {
        matrix.value[kept - 1] += matrix.value[at];
      } else {
        matrix.row[kept] = matrix.row[at];
        matrix.value[kept++] = matrix.value[at];
      }
    }
    matrix.column_start[column + 1] = kept;
  }
  matrix.row.resize(kept);
  matrix.value.resize(kept);
}

}  // namespace

void Triplets::reserve(std::int64_t entries) {
  row.reserve(entries);
  column.reserve(entries);
  value.reserve(entries);
}

void Triplets::append(std::int32_t new_row, std::int32_t new_column, double new_value) {
  if (sorted && !row.empty()) {
    sorted = std::pair(column.back(), row.back()) < std::pair(new_column, new_row);
  }
  row.push_back(new_row);
  column.push_back(new_column);
  value.push_back(new_value);
}

SymmetricMatrix assemble(std::int32_t size, Triplets&& triplets) {
  SymmetricMatrix matrix;
  matrix.size = size;
  matrix.column_start.assign(size + 1LL, 0);
  for (std::int32_t column : triplets.column) ++matrix.column_start[column + 1];
  counts_to_starts(matrix.column_start);
  if (triplets.sorted) {
    matrix.row = std::move(triplets.row);
    matrix.value = std::move(triplets.value);
    triplets = {};
    return matrix;
  }
  const std::vector<std::int64_t>& start = matrix.column_start;
  matrix.row = grouped(std::move(triplets.row), triplets.column, start);
  matrix.value = grouped(std::move(triplets.value), triplets.column, start);
  triplets = {};
  sort_columns(matrix);
  merge_duplicates(matrix);
  return matrix;
}

}  // namespace espalier::solver
