#pragma once

#include <optional>

#include "solver/kernels/pivot_block.h"

namespace espalier::solver::kernels {

/// factor_pivot_block() of a block of one column for L D L^T and L U, where its pivot
/// passes at once: over `tiny`, with a normal inverse, and no entry of L over
/// 1 / threshold. What trees, bands and permutations are made of.
///
/// @return nothing where it does not pass, and the block is as it was
/// @par Cost  two passes over the rows below
template <class T>
[[nodiscard]] std::optional<PivotCounts> factor_single_pivot(FactorKind kind,
                                                             const PivotBlock<T>& block,
                                                             const PivotRule& rule);

}  // namespace espalier::solver::kernels
