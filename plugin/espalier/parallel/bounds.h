#pragma once

#include <optional>
#include <span>
#include <vector>

#include "espalier/model/plan.h"

namespace espalier {

/// Weight of the path from each task to its root, both included: the critical-path
/// priority. In units of work; O(n).
[[nodiscard]] std::vector<Seconds> root_path_weights(const TaskTree& tree);

/// The same in time: task i takes w_i / min(P, max_workers[i]). Equal to it when
/// `max_workers` is empty. @throws InvalidInput as lower_bounds()
[[nodiscard]] std::vector<Seconds> root_path_times(const TaskTree& tree,
                                                   std::int32_t workers,
                                                   std::span<const double> max_workers);

/// No schedule on `workers` workers takes less, in units of work [ABM17]:
///   work           W / P
///   critical path  heaviest path from a leaf to a root
///   memory area    (1/M) sum of MemReq(i) w_i: tasks that run at once share no datum,
///   and
///                  each holds its MemReq while it runs; 0 without a bound or with M = 0
///
/// With `max_workers` (as in PlanOptions; empty: one each) task i takes at least
/// w_i / max_workers[i] instead of w_i in the last two.
///
/// @throws InvalidInput for workers < 1 and as useful_workers()
/// @par Cost  O(n)
[[nodiscard]] LowerBounds lower_bounds(const TaskTree& tree, std::int32_t workers,
                                       std::optional<Bytes> memory_bound,
                                       std::span<const double> max_workers = {});

/// `max_workers` as given, or 1 for each task when it is empty.
/// @throws InvalidInput for a length other than the tree's, or a value below 1 or not
///                      finite; the message names task and value
[[nodiscard]] std::vector<double> useful_workers(const TaskTree& tree,
                                                 std::span<const double> max_workers);

}  // namespace espalier
