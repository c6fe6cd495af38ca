#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "espalier/model/plan.h"
#include "espalier/model/task_graph.h"

namespace espalier {

/// Work of the heaviest path that begins with each operator, itself included: the
/// critical-path priority. O(operators + reads).
[[nodiscard]] std::vector<Seconds> path_weights(const TaskGraph& graph);

/// No schedule of the graph on `workers` workers takes less, in units of work:
///   work           W / P
///   critical path  the heaviest path
///   memory area    (1/M) of the sum of size times least lifetime over data, and of
///                  workspace times work over operators; 0 without a bound or with M = 0
///
/// A datum lives from the start of its producer to the end of each of its readers: at
/// least for the work of the producer and of its heaviest reader. Without a producer it
/// lives from the start of the job, at least as long as the heaviest path that ends with
/// one of its readers. One that is kept lives to the end of the job: at least as long as
/// the heaviest path that begins with its producer; without a producer, as the heaviest
/// path of all. Data are counted once, since readers share them.
///
/// @throws InvalidInput for workers < 1
/// @par Cost  O(operators + data + reads)
/// @par Test  GraphBounds.*
[[nodiscard]] LowerBounds lower_bounds(const TaskGraph& graph, std::int32_t workers,
                                       std::optional<Bytes> memory_bound);

}  // namespace espalier
