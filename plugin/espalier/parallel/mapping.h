#pragma once

#include <cstdint>

#include "espalier/model/schedule.h"
#include "espalier/model/task_tree.h"

namespace espalier {

/// Every task on all workers.
[[nodiscard]] Mapping all_to_all(const TaskTree& tree, std::int32_t workers);

/// Proportional mapping [PS93]: the roots share the interval [0, P), and the children of
/// a task share its interval by the work of their subtrees, in order of id (evenly when
/// they have none), until an interval is no wider than one worker; then the whole subtree
/// has it.
///
/// An interval wider than one worker stands for every worker that it touches, so that
/// neighbours may share the worker at their border; a narrower one stands for the worker
/// at its middle, so that siblings share a worker. Each task has at least one.
///
/// @throws InvalidInput for workers < 1, as does all_to_all()
/// @par Cost  O(n)
[[nodiscard]] Mapping proportional(const TaskTree& tree, std::int32_t workers);

}  // namespace espalier
