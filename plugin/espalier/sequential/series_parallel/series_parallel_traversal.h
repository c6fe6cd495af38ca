#pragma once

#include <span>
#include <tl/expected.hpp>

#include "espalier/model/traversal.h"
#include "espalier/sequential/segments/segment.h"
#include "espalier/sequential/series_parallel/edge_weighted_dag.h"

namespace espalier {

/// Order of least peak memory of a series-parallel graph with sizes on its arcs [KLMU18].
/// No order of any kind needs less.
///
/// Running task i adds execution_size(i) + output_size(i) to what is in memory and
/// changes it for good by output_size(i) − input_size(i), which does not depend on the
/// order. So every part of the graph is a profile (profile.h), and with the decomposition
/// of two_terminal.h
///
///   an arc                     the empty profile
///   series of A and B at x     series(A, x, B)
///   A and B in parallel        parallel(A, B)
///
/// The profile of the arc that remains is the order. Ties go by the decomposition, a
/// function of the graph as given, so every machine returns the same order.
///
/// Against the literature: segments that free memory stand for the out-tree above the
/// least cut, the others for the in-tree below it; keeping both in heaps makes it
/// O(n log n) in place of a traversal of trees for every parallel composition.
///
/// In the model of a task tree, liu_traversal() is the same with one end of the profile.
///
/// @return each task once, with its peak in bytes; or what is not series-parallel
/// @par Cost  O(n log n + arcs) expected time, O(n + arcs) memory, no recursion
/// @par Test  SeriesParallelTraversal.MatchesExactSearchOnSmallGraphs
[[nodiscard]] tl::expected<Traversal, NotSeriesParallel> series_parallel_traversal(
    const EdgeWeightedDag& dag);

/// The same for any tasks whose net does not depend on the order, where the graph has
/// been taken apart already. Task i is tasks[i]; the peak is relative to the start.
[[nodiscard]] Traversal series_parallel_traversal(
    const TwoTerminalDecomposition& decomposition, std::span<const Segment> tasks);

}  // namespace espalier
