#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solver/distributed/columns.h"
#include "solver/distributed/communicator.h"
#include "solver/matrix/sparse_matrix.h"

namespace espalier::solver {

/// Collective. Entries before each column, and at the end all, of a matrix that is spread
/// over processes by columns.
/// @param size  columns
[[nodiscard]] std::vector<std::int64_t> entries_before_columns(Communicator& communicator,
                                                               const SquareMatrix& here,
                                                               std::int32_t size);

/// Collective. The columns of a matrix that distribute_columns() has spread go to where
/// other ranges say; those that stay are not sent.
///
/// @param from, to  ranges of all columns, the same everywhere
/// @par Cost    a message for each list and each range that moves
/// @par Memory  the new columns beside the old ones, one list at a time
void move_columns(Communicator& communicator, std::span<const ColumnRange> from,
                  std::span<const ColumnRange> to, SquareMatrix& permuted);

}  // namespace espalier::solver
