#pragma once

#include "espalier/model/units.h"
#include "espalier/solver/options.h"
#include "solver/symbolic/symbolic.h"

namespace espalier::solver {

/// Makes small consecutive siblings children of the last of them, whose rows become the
/// union of theirs: a bundle, which sends one contribution block to the parent in place
/// of many. What it adds are zeros in the rows of that last front. The roots of a forest
/// count as siblings, with no rows. Numbers and pivots of fronts stay as they are.
///
///   example: an arrow of order 5, a front a column, no limit of work
///   before   rows_of {4} {4} {4} {4} {}   parent  4 4 4 4 -1
///   after    the same rows                parent  3 3 3 4 -1
///
/// A sibling joins as long as the bundle's bytes a member, the triangle of its union and
/// the zeros and `task_bytes` together, do not grow, and those it adds are no more than
/// its own.
///
/// @throws OverflowError when there are more than 2^63 - 1 rows
/// @par Cost  O(fronts + rows_of + rows of the unions at every join)
[[nodiscard]] Symbolic bundle_siblings(Symbolic symbolic,
                                       const BundleOptions& options = {});

}  // namespace espalier::solver
