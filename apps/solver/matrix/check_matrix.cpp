#include "solver/matrix/check_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>
#include <vector>

#include "espalier/model/error.h"

namespace espalier::solver {
namespace {

void check_column(const MatrixView& matrix, std::int32_t j) {
  const auto column = static_cast<std::size_t>(j);
  const std::int32_t first = matrix.symmetric ? j : 0;
  std::int32_t last = first - 1;
  for (std::int64_t k = matrix.column_start[column]; k < matrix.column_start[column + 1];
       ++k) {
    const std::int32_t row = matrix.rows[static_cast<std::size_t>(k)];
    const double value = matrix.values[static_cast<std::size_t>(k)];
    if (row < first || row >= matrix.order)
      throw InvalidInput(fmt::format("entry {} in column {}: row {} is not in {} … {}", k,
                                     j, row, first, matrix.order - 1));
    if (row <= last)
      throw InvalidInput(fmt::format("entry {} in column {}: row {} comes after row {}",
                                     k, j, row, last));
    if (!std::isfinite(value))
      throw InvalidInput(fmt::format("entry ({}, {}) is {}: not finite", row, j, value));
    last = row;
  }
}

}  // namespace

MatrixView view_of(const InputMatrix& matrix) {
  return std::visit(
      [&](const auto& each) {
        return MatrixView{each.size, std::holds_alternative<SymmetricMatrix>(matrix),
                          each.column_start, each.row, each.value};
      },
      matrix);
}

void check_columns(std::int32_t order, std::span<const std::int64_t> column_start) {
  if (order < 0) throw InvalidInput(fmt::format("a matrix of order {}", order));
  if (column_start.size() != static_cast<std::size_t>(order) + 1)
    throw InvalidInput(fmt::format("column_start has {} offsets for a matrix of order {}",
                                   column_start.size(), order));
  if (column_start[0] != 0)
    throw InvalidInput(fmt::format("column_start[0] is {}, not 0", column_start[0]));
  for (std::int32_t j = 0; j < order; ++j) {
    const std::int64_t begin = column_start[static_cast<std::size_t>(j)],
                       end = column_start[static_cast<std::size_t>(j) + 1];
    // In this order: begin is in range, so nothing overflows.
    if (end < begin || end - begin > order)
      throw InvalidInput(fmt::format("column {} of a matrix of order {} is from {} to {}",
                                     j, order, begin, end));
  }
}

void check(const MatrixView& matrix) {
  check_columns(matrix.order, matrix.column_start);
  const auto entries = static_cast<std::size_t>(matrix.column_start.back());
  if (matrix.rows.size() != entries || matrix.values.size() != entries)
    throw InvalidInput(fmt::format("{} rows and {} values for {} entries",
                                   matrix.rows.size(), matrix.values.size(), entries));
  for (std::int32_t j = 0; j < matrix.order; ++j) check_column(matrix, j);
}

void check_count(std::int32_t nrhs) {
  if (nrhs < 0) throw InvalidInput(fmt::format("nrhs is {}: negative", nrhs));
}

void check_count(std::int32_t order, std::int32_t nrhs, std::size_t entries) {
  check_count(nrhs);
  if (std::cmp_not_equal(entries, checked_mul(order, nrhs)))
    throw InvalidInput(fmt::format("{} entries for {} right-hand sides of order {}",
                                   entries, nrhs, order));
}

void check_vectors(std::int32_t order, std::int32_t nrhs,
                   std::span<const double> vectors) {
  check_count(order, nrhs, vectors.size());
  const auto bad = std::find_if_not(vectors.begin(), vectors.end(),
                                    [](double value) { return std::isfinite(value); });
  if (bad != vectors.end())
    throw InvalidInput(fmt::format("entry {} of the right-hand sides is {}: not finite",
                                   bad - vectors.begin(), *bad));
}

void check_rows(std::int32_t order, std::span<const std::int64_t> rows) {
  std::int64_t last = -1;
  for (const std::int64_t row : rows) {
    if (row < 0 || row >= order)
      throw InvalidInput(
          fmt::format("row {} of the right-hand side is not in 0 … {}", row, order - 1));
    if (row <= last)
      throw InvalidInput(
          fmt::format("row {} of the right-hand side comes after row {}", row, last));
    last = row;
  }
}

void check_permutation(std::span<const std::int32_t> order, const char* name) {
  std::vector<bool> seen(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    const std::int32_t index = order[k];
    if (index < 0 || index >= std::ssize(order))
      throw InvalidInput(fmt::format("{}[{}] is {}: not in 0 … {}", name, k, index,
                                     std::ssize(order) - 1));
    if (seen[static_cast<std::size_t>(index)])
      throw InvalidInput(
          fmt::format("{}[{}] is {}: for the second time", name, k, index));
    seen[static_cast<std::size_t>(index)] = true;
  }
}

void check_given_order(std::span<const std::int32_t> order, std::int32_t size,
                       const char* name) {
  if (order.empty()) return;
  if (std::ssize(order) != size)
    throw InvalidInput(
        fmt::format("{} has {} entries for order {}", name, order.size(), size));
  check_permutation(order, name);
}

}  // namespace espalier::solver
