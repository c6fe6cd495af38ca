#pragma once

#include <optional>
#include <span>
#include <vector>

#include "espalier/model/layout.h"
#include "espalier/model/task_graph.h"
#include "espalier/training/lifetimes.h"

namespace espalier {

/// Another order of the same peak or less, in which a buffer that ends at the top of the
/// layout lives shorter: its producer runs as late as may be, or its last reader as early
/// as may be. Nothing where no such order was found.
/// @par Cost  O(operators + reads) for each of the buffers at the top, at most 64
[[nodiscard]] std::optional<std::vector<TaskId>> shift_order(
    const TaskGraph& graph, std::span<const TaskId> order, const Lifetimes& lifetimes,
    const Layout& layout);

}  // namespace espalier
