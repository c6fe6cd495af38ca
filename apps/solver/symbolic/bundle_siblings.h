#pragma once

#include "espalier/model/units.h"
#include "solver/symbolic/symbolic.h"

namespace espalier::solver {

/// Which siblings are bundled. Each task of the runtime has memory of its own, in whole
/// pages, so that a hundred thousand small leaves of one front would take a hundred times
/// their factor, more than their time, and more mappings than a system allows.
struct BundleOptions {
  /// Factors of fewer operations are left as they are: whoever asks for them does so
  /// without tasks.
  Flops least_flops = 0;
  /// Siblings whose common subtree has at least this work: below it all is one task
  /// anyway …
  Flops parent_work = 2e7;
  /// … and all of a bundle at most this, time of its tasks being far above the runtime's.
  Flops bundle_work = 1e6;
  /// What a task takes beside its entries.
  Bytes task_bytes = 12288;
};

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
