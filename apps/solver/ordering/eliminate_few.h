#pragma once

#include <cstdint>

#include "solver/matrix/sparse_matrix.h"
#include "solver/ordering/elimination_order.h"

namespace espalier::solver {

/// Columns up to which eliminate_few() takes a matrix.
constexpr std::int32_t kFewColumns = 1024;

/// Minimum external degree [Liu85, "Modification of the minimum-degree algorithm by
/// multiple elimination"; without the multiple elimination] of a matrix of few columns,
/// exact, and the elimination that it does on the way: a vertex's neighbours are the bits
/// of one to sixteen words.
///   1. of the vertices that are left one of least external degree is taken, the first of
///      them, together with those that have the same neighbours
///   2. their neighbours are the rows of their columns of L, and become neighbours of one
///      another; those that now have the same neighbours are one from here on.
/// With so few columns libraries and the steps between, graph, order, tree and counts,
/// take most of their time to begin.
///
///   A star with hub 0 and leaves 1, 2, 3: 1 is taken, then 2, of degree 1; then hub and
///   leaf 3 are of degree 1 both, and the hub is the first. Order 1 2 0 3, without fill.
///
/// @param matrix  kFewColumns columns at most
/// @return as elimination_order() of that order
/// @par Cost  n^2 + d^2 for each elimination with d neighbours; about 2 microseconds for
///            27 columns
/// @par Test  EliminateFew.*
[[nodiscard]] EliminationOrder eliminate_few(const SymmetricMatrix& matrix);

}  // namespace espalier::solver
