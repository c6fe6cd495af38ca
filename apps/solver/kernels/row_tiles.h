#pragma once

// Rows of a block column apart from its diagonal block: LDL^T and LU by tiles. The pivots
// are chosen by factor_pivot_block() for the diagonal block and whatever rows it is
// given, applied to other rows one by one, tested by each, and put in force as far as all
// of them bear it: a posteriori pivoting [DHL20] over tiles. T: matrix/entry.h.

#include <cstdint>
#include <span>
#include <type_traits>

#include "solver/kernels/pivot_block.h"

namespace espalier::solver::kernels {

/// Applies the pivots of a factored block to rows below it, in place: columns are
/// permuted as those of the block, the first k are then those of L and the others the
/// Schur complement of these k. k is the largest count, not over `eliminated` nor within
/// a 2 x 2 pivot, for which |l_ij| <= 1/threshold in all of these rows; entries that are
/// not finite are over.
///
/// The columns from the first that fails on are put back exactly in the rows that were
/// treated together with it; in others as put_back() does it.
///
/// @param block    its diagonal block, orders and d as factor_pivot_block() left them,
///                 `eliminated` columns of it; `below` and `right` are not looked at
/// @param scratch  pivot_scratch(kind, width) entries or more, which changes no bit;
///                 contents do not matter
/// @return k
/// @par Cost  eliminated (2 width - eliminated) flops a row
template <class T>
[[nodiscard]] std::int32_t solve_rows(FactorKind kind, const PivotBlock<T>& block,
                                      std::int32_t eliminated, double threshold,
                                      const RowSegment<T>& rows,
                                      std::span<std::type_identity_t<T>> scratch);

/// LU: the same for rows of U^T right of the block, which nothing tests.
template <class T>
void solve_right_rows(const PivotBlock<T>& block, std::int32_t eliminated,
                      const RowSegment<T>& rows,
                      std::span<std::type_identity_t<T>> scratch);

/// Takes pivots back: all of the block is left as if its first `to` columns had been
/// eliminated and no more, up to rounding errors of order epsilon / threshold times the
/// upper factor. `to` does not cut a 2 x 2 pivot.
///
/// @param eliminated  in the diagonal block, and in `right`
/// @param kept        in each segment of `below`; at least `to`
template <class T>
void put_back(FactorKind kind, const PivotBlock<T>& block, std::int32_t eliminated,
              std::span<const std::int32_t> kept, std::int32_t to,
              std::span<std::type_identity_t<T>> scratch);

/// Counts of the first columns of a block, all of which were taken as they are.
template <class T>
[[nodiscard]] PivotCounts count_pivots(FactorKind kind, const PivotBlock<T>& block,
                                       std::int32_t columns);

}  // namespace espalier::solver::kernels
