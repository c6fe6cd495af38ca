#pragma once

#include <vector>

#include "espalier/model/task_graph.h"
#include "espalier/training/lifetimes.h"

namespace espalier::bench {

/// An order in the manner of list schedulers for memory: of the operators that are ready,
/// the one after which least is in memory; of equals the first one.
[[nodiscard]] std::vector<TaskId> least_memory_order(const TaskGraph& graph);

/// Bytes that a static layout takes which places the longest-lived buffers first, each
/// into the tightest gap that it fits.
[[nodiscard]] Bytes longest_lived_best_fit(const BufferSet& buffers);

/// Bytes that an allocator takes which serves the order as it runs: multiples of 512
/// bytes, the smallest free block that suffices, split, and joined with its neighbours
/// when it is freed; nothing ever goes back. What frameworks do, without their separate
/// pools, so at most what they take.
[[nodiscard]] Bytes caching_best_fit(const BufferSet& buffers);

}  // namespace espalier::bench
