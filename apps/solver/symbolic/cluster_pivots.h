#pragma once

#include <cstdint>

#include "espalier/solver/options.h"
#include "solver/matrix/sparse_matrix.h"
#include "solver/symbolic/symbolic.h"

namespace espalier::solver {

/// The same fronts with the pivots of the large ones in another order: columns
/// [k size, k size + size) of a front are near each other in the graph of the matrix, so
/// that blocks of the front far from its diagonal have low rank.
///
/// A front's pivots are bisected until a part is one cluster. Two are adjacent here when
/// they are in the matrix or have a neighbour in common: what lies between the points of
/// a separator that is not flat. A part is ordered by the difference of the distances
/// from two of its vertices that are far from each other, and cut at a multiple of the
/// size; ties go by the order that there was, and what cannot be reached goes last.
///
/// Nothing of the fill changes: a front is dense.
///
/// @param given  the matrix whose columns symbolic.permutation orders
/// @par Cost  O(edges of distance two among pivots, times log(pivots / size)) a front
/// @par Test  ClusterPivots.*
void cluster_pivots(const SymmetricMatrix& given, const ClusterOptions& options,
                    Symbolic& symbolic);

}  // namespace espalier::solver
