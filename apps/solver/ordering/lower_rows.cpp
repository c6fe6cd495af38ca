#include "solver/ordering/lower_rows.h"

#include <algorithm>
#include <utility>

#include "solver/matrix/offsets.h"
#include "solver/matrix/permute.h"
#include "solver/ordering/lists_by_target.h"
#include "solver/ordering/vertex_blocks.h"

namespace espalier::solver {

LowerRows permuted_rows(const SymmetricMatrix& matrix,
                        std::span<const std::int32_t> permutation, TaskPool& pool) {
  const std::vector<std::int32_t> inverse = inverse_permutation(permutation);
  Lists lists = lists_by_target(
      matrix.size, matrix.size, pool, [&](std::int32_t column, const auto& emit) {
        const std::int32_t own = inverse[column];
        for (auto at = matrix.column_start[column]; at < matrix.column_start[column + 1];
             ++at) {
          const auto [low, high] = std::minmax(own, inverse[matrix.row[at]]);
          if (low != high) emit(high, low);
        }
      });
  return {matrix.size, std::move(lists.start), std::move(lists.item)};
}

LowerRows permuted_rows(const SymmetricMatrix& matrix,
                        std::span<const std::int32_t> permutation) {
  TaskPool alone(1);
  return permuted_rows(matrix, permutation, alone);
}

LowerRows renumbered(const LowerRows& rows, std::span<const std::int32_t> order,
                     std::span<const std::int32_t> number, TaskPool& pool) {
  LowerRows result{rows.size, UnsetVector<std::int64_t>(rows.row_start.size()),
                   UnsetVector<std::int32_t>(rows.column.size())};
  result.row_start.front() = 0;
  const VertexBlocks blocks(rows.size);
  pool.for_each_block(blocks.count(), [&](std::int64_t k) {
    for (std::int32_t row = blocks.first(k); row < blocks.first(k + 1); ++row)
      result.row_start[row + 1] = std::ssize(rows.columns_of(order[row]));
  });
  counts_to_starts(result.row_start);
  pool.for_each_block(blocks.count(), [&](std::int64_t k) {
    for (std::int32_t row = blocks.first(k); row < blocks.first(k + 1); ++row) {
      std::int64_t to = result.row_start[row];
      for (const std::int32_t column : rows.columns_of(order[row]))
        result.column[to++] = number[column];
    }
  });
  return result;
}

}  // namespace espalier::solver
