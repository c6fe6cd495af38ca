#pragma once

#include <optional>
#include <span>

#include "solver/kernels/pivot_block.h"

namespace espalier::solver::kernels {

/// factor_pivot_block() by L U of a block of few columns all of whose pivots may stand
/// where they are: most blocks of small fronts. Without the copies, exchanges and calls
/// that wider blocks are worth.
///
///   1. the diagonal block, on the side: each pivot over `tiny` and large enough in its
///      column to be preferred
///   2. the rows of L below it, on the side, within the bound
///   3. both are put in place, and the rows right of the block are solved for
///
/// @param scratch  as factor_pivot_block() has
/// @return nothing when the block has many columns or rows, or one of its pivots is not
///         good enough; the block is as it was then
/// @par Cost  w^2 (rows of below and right) + 2/3 w^3 flops
template <class T>
[[nodiscard]] std::optional<PivotCounts> factor_narrow_lu(const PivotBlock<T>& block,
                                                          const PivotRule& rule,
                                                          std::span<T> scratch);

}  // namespace espalier::solver::kernels
