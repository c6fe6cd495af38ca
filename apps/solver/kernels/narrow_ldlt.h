#pragma once

#include <optional>
#include <span>

#include "solver/kernels/pivot_block.h"

namespace espalier::solver::kernels {

/// factor_pivot_block() by L D L^T of a block of few columns whose pivots may stand where
/// they are, of one column or of two neighbours: most blocks of small fronts. Without the
/// search, copies and exchanges that wider blocks are worth.
///
///   1. the diagonal block, on the side: a pivot of one column is alpha [BP71] times the
///      largest entry under it in the block or more; where it is less, and that entry is
///      the neighbour's, the two are a pivot with an eigenvalue of either sign
///   2. the rows of L below it, on the side, within the bound
///   3. both are put in place
///
/// @param scratch  as factor_pivot_block() has
/// @return nothing when the block has many columns or rows, or one of its pivots is not
///         good enough; the block is as it was then
/// @par Cost  w^2 (rows of below) + w^3 / 3 flops
template <class T>
[[nodiscard]] std::optional<PivotCounts> factor_narrow_ldlt(const PivotBlock<T>& block,
                                                            const PivotRule& rule,
                                                            std::span<T> scratch);

}  // namespace espalier::solver::kernels
