#pragma once

#include <cstddef>
#include <functional>
#include <tl/expected.hpp>
#include <vector>

#include "espalier/model/task_graph.h"
#include "espalier/sequential/series_parallel/two_terminal.h"

namespace espalier {

/// What is searched, counted and not timed, so that every machine gives the same answer.
struct SeriesParallelLimits {
  /// Of a block, once folded: for which its dominant order is found.
  std::size_t most_downsets = 1 << 17;
  /// Of all such blocks together.
  std::size_t most_downsets_in_all = 1 << 21;
  /// Beginnings of orders (shared_fork_order.h), for all other blocks together.
  std::size_t most_checks = 20'000;
  /// Asked before every block. Once true, nothing more is searched.
  std::function<bool()> stop = {};
};

/// An order of all operators and its peak in bytes; no order needs less than lower_bound.
struct SeriesParallelOrder {
  std::vector<TaskId> order;
  Bytes peak = 0;
  Bytes lower_bound = 0;
  [[nodiscard]] bool proved() const { return peak == lower_bound; }
};

/// Order of little peak memory of a task graph that is series-parallel: each datum is
/// counted once, however many operators read it. Least peak within the limits. The
/// problem is strongly NP-complete already for out-trees and for disjoint chains between
/// two tasks, and polynomial for a fixed number of readers [JPSVW24].
///
/// The graph has an arc from the producer of a datum to each reader, from the source
/// (two_terminal.h) to each reader of a datum without producer that has several, and
/// between the source or the sink and operators without predecessors or successors.
/// Data with one reader are freed by it. Then, from the innermost outwards:
///
///   u := a task with several followers, t := where they meet, nothing like it in between
///   the block between u and t is an in-forest (shared_fork.h): fold it, find its
///   dominant order (dominant_schedule.h) and replace it by the chain of that order
///
/// since the block touches the rest at u and t only. The one chain that remains is the
/// order. A block that has too many downsets even when folded, as long chains have, is
/// put into an order of least peak (shared_fork_order.h): the answer is still proved when
/// it lies in no other block. When that is given up too, the best order found is taken,
/// and the lower bound is the largest of the operators' own needs and of the least peaks
/// with each shared datum freed by one reader chosen beforehand.
///
/// @return each operator once; or what is not series-parallel
/// @throws OverflowError when a block that has to be searched holds more than 2^61 bytes
///         or so
/// @par Cost  O(n log n + arcs) and the searches, when blocks are not nested deeply
/// @par Test  SeriesParallelOrder.MatchesExactSearchOnSmallGraphs
[[nodiscard]] tl::expected<SeriesParallelOrder, NotSeriesParallel> series_parallel_order(
    const TaskGraph& graph, const SeriesParallelLimits& limits = {});

}  // namespace espalier
