#include "solver/permute.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace espalier::solver {
namespace {

// Calls visit(lower, higher, entry) with the new indices of every entry of the matrix.
template <class Visit>
void for_each_entry(const SymmetricMatrix& matrix, std::span<const std::int32_t> inverse,
                    Visit visit) {
  for (std::int32_t column = 0; column < matrix.size; ++column) {
    for (auto at = matrix.column_start[column]; at < matrix.column_start[column + 1];
         ++at) {
      const auto [low, high] = std::minmax({inverse[column], inverse[matrix.row[at]]});
      visit(low, high, at);
    }
  }
}

// Offsets from counts that stand one place to the right of their bucket, and a cursor for
// each bucket.
std::vector<std::int64_t> counts_to_starts(std::vector<std::int64_t>& start) {
  std::partial_sum(start.begin(), start.end(), start.begin());
  return {start.begin(), start.end() - 1};
}

void sort_column(std::span<std::int32_t> row, std::span<double> value,
                 std::vector<std::pair<std::int32_t, double>>& entries) {
  if (std::is_sorted(row.begin(), row.end())) return;
  entries.clear();
  for (std::size_t k = 0; k < row.size(); ++k) entries.emplace_back(row[k], value[k]);
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t k = 0; k < row.size(); ++k) std::tie(row[k], value[k]) = entries[k];
}

}  // namespace

std::vector<std::int32_t> inverse_permutation(std::span<const std::int32_t> permutation) {
  std::vector<std::int32_t> inverse(permutation.size());
  for (std::size_t k = 0; k < permutation.size(); ++k) {
    inverse[permutation[k]] = static_cast<std::int32_t>(k);
  }
  return inverse;
}

LowerRows permuted_rows(const SymmetricMatrix& matrix,
                        std::span<const std::int32_t> permutation) {
  const std::vector<std::int32_t> inverse = inverse_permutation(permutation);
  LowerRows rows{matrix.size, std::vector<std::int64_t>(matrix.size + 1LL, 0), {}};
  for_each_entry(matrix, inverse, [&rows](auto low, auto high, auto) {
    if (low != high) ++rows.row_start[high + 1];
  });
  std::vector<std::int64_t> next = counts_to_starts(rows.row_start);
  rows.column.resize(rows.row_start.back());
  for_each_entry(matrix, inverse, [&](auto low, auto high, auto) {
    if (low != high) rows.column[next[high]++] = low;
  });
  return rows;
}

void sort_columns(SymmetricMatrix& matrix) {
#pragma omp parallel if (matrix.row.size() > 10'000)
  {
    std::vector<std::pair<std::int32_t, double>> entries;
#pragma omp for schedule(dynamic, 1024)
    for (std::int32_t column = 0; column < matrix.size; ++column) {
      const auto start = matrix.column_start[column];
      const auto length = matrix.column_start[column + 1] - start;
      sort_column(std::span(matrix.row).subspan(start, length),
                  std::span(matrix.value).subspan(start, length), entries);
    }
  }
}

SymmetricMatrix permuted(const SymmetricMatrix& matrix,
                         std::span<const std::int32_t> permutation) {
  const std::vector<std::int32_t> inverse = inverse_permutation(permutation);
  SymmetricMatrix result;
  result.size = matrix.size;
  result.column_start.assign(matrix.size + 1LL, 0);
  for_each_entry(matrix, inverse,
                 [&result](auto low, auto, auto) { ++result.column_start[low + 1]; });
  std::vector<std::int64_t> next = counts_to_starts(result.column_start);
  result.row.resize(matrix.row.size());
  result.value.resize(matrix.value.size());
  for_each_entry(matrix, inverse, [&](auto low, auto high, auto at) {
    result.row[next[low]] = high;
    result.value[next[low]++] = matrix.value[at];
  });
  sort_columns(result);
  return result;
}

}  // namespace espalier::solver
