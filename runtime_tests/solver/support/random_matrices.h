#pragma once

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "solver/matrix/sparse_matrix.h"

namespace espalier::solver {

/// Seeded symmetric matrices for tests: from empty to dense, with empty rows and in
/// several connected parts; some diagonal entries are missing.
inline SymmetricMatrix random_matrix(std::mt19937& random, std::int32_t most_rows) {
  const auto below = [&random](int limit) {
    return std::uniform_int_distribution<int>(0, limit - 1)(random);
  };
  const std::int32_t size = below(most_rows + 1);
  const int entries = size == 0 ? 0 : below(1 << below(8)) + below(2 * size);
  std::set<std::pair<std::int32_t, std::int32_t>> places;  // (column, row)
  for (int k = 0; k < entries; ++k) {
    const std::int32_t row = below(size), column = below(size);
    places.emplace(std::min(row, column), std::max(row, column));
  }
  SymmetricMatrix matrix;
  matrix.size = size;
  matrix.column_start.assign(size + 1, 0);
  for (const auto& [column, row] : places) {
    ++matrix.column_start[column + 1];
    matrix.row.push_back(row);
    matrix.value.push_back(std::uniform_real_distribution<>(-9, 9)(random));
  }
  for (std::int32_t column = 0; column < size; ++column) {
    matrix.column_start[column + 1] += matrix.column_start[column];
  }
  return matrix;
}

/// Rows of each column of L, diagonal included, by elimination on sets.
inline std::vector<std::set<std::int32_t>> symbolic_elimination(
    const SymmetricMatrix& matrix) {
  std::vector<std::set<std::int32_t>> columns(matrix.size);
  for (std::int32_t column = 0; column < matrix.size; ++column) {
    columns[column].insert(column);
    for (auto at = matrix.column_start[column]; at < matrix.column_start[column + 1];
         ++at) {
      columns[column].insert(matrix.row[at]);
    }
  }
  for (std::int32_t column = 0; column < matrix.size; ++column) {
    std::set<std::int32_t> rest = columns[column];
    rest.erase(column);
    if (!rest.empty()) columns[*rest.begin()].insert(rest.begin(), rest.end());
  }
  return columns;
}

/// For the message of a failing test.
inline std::string describe(const SymmetricMatrix& matrix) {
  std::string text = "order " + std::to_string(matrix.size) + ":";
  for (std::int32_t column = 0; column < matrix.size; ++column) {
    for (auto at = matrix.column_start[column]; at < matrix.column_start[column + 1];
         ++at) {
      text += " (" + std::to_string(matrix.row[at]) + "," + std::to_string(column) + ")";
    }
  }
  return text;
}

}  // namespace espalier::solver
