#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "solver/matrix/sparse_matrix.h"
#include "solver/ordering/elimination_order.h"

namespace espalier::solver {

/// An order by minimum degree of a matrix with pairs, of which some may have been let go.
struct PairedOrder {
  EliminationOrder eliminated;
  std::vector<std::int32_t> partner;  ///< the pairs that were eliminated as one
  /// Whether it stays; else it is that of all pairs, and another kind may be better.
  bool settled = false;
};

/// Orders by minimum degree with fewer pairs of a matching where pairs make much fill.
///
/// Of a pair (i, j) with a weak diagonal entry at i and a strong one at j nothing is
/// wrong with j as a pivot by itself, and i has a diagonal entry afterwards. Such a pair
/// is loose: it need not be eliminated as one if j comes first, which minimum degree
/// sees to for most, the variables of an optimiser having few constraints each. So where
/// the factor with all pairs is not cheap:
///   1. order without the loose pairs;
///   2. pair those again whose i comes before its j, and repeat, a few times;
///   3. keep that if the factor has less than half of the operations.
///
/// @param matrix   scaled so that no entry is above 1
/// @param partner  not empty
/// @param grouped  the matrix with all of these pairs
/// @par Cost  that of one order by minimum degree where the factor is cheap, of up to
/// five
///            where pairs are let go
/// @par Test  no loose pair is let go whose weak half comes first but for few of the last
///            round; fewer operations than with all pairs
[[nodiscard]] PairedOrder order_pairs_by_degree(const SymmetricMatrix& matrix,
                                                std::span<const std::int32_t> partner,
                                                const GroupedPattern& grouped,
                                                Threads threads = {});

}  // namespace espalier::solver
