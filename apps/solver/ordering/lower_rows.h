#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solver/matrix/sparse_matrix.h"
#include "solver/matrix/unset_vector.h"
#include "solver/threads/task_pool.h"

namespace espalier::solver {

/// Pattern of the strictly lower triangle by rows: row i lists columns k < i with a
/// possible nonzero, in no order.
struct LowerRows {
  std::int32_t size = 0;
  UnsetVector<std::int64_t> row_start;  ///< size + 1 offsets
  UnsetVector<std::int32_t> column;

  [[nodiscard]] std::span<const std::int32_t> columns_of(std::int32_t row) const {
    return std::span(column).subspan(row_start[row], row_start[row + 1] - row_start[row]);
  }
};

/// Strictly lower pattern of P A P^T by rows; permutation[new] = old.
///
/// @par Cost  O(n + nonzeros), shared by the pool, and 8 bytes a nonzero meanwhile
[[nodiscard]] LowerRows permuted_rows(const SymmetricMatrix& matrix,
                                      std::span<const std::int32_t> permutation,
                                      TaskPool& pool);
[[nodiscard]] LowerRows permuted_rows(const SymmetricMatrix& matrix,
                                      std::span<const std::int32_t> permutation);

/// The same rows when column order[k] is renumbered k, an order in which every column
/// still comes before those of its ancestors: nothing changes its triangle.
///
/// @param number  number[order[k]] = k
/// @par Cost  O(n + nonzeros), shared by the pool
[[nodiscard]] LowerRows renumbered(const LowerRows& rows,
                                   std::span<const std::int32_t> order,
                                   std::span<const std::int32_t> number, TaskPool& pool);

}  // namespace espalier::solver
