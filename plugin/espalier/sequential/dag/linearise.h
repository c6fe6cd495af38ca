#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "espalier/sequential/downsets/downset_block.h"

namespace espalier {

/// A block in which tasks stand for runs of tasks of another one.
struct LinearisedBlock {
  DownsetBlock block;
  /// By task of `block`: what it stands for, in the order in which it is to be run.
  IdVector<BlockTaskId, std::vector<BlockTaskId>> tasks;
};

struct LineariseLimits {
  std::size_t tasks = 1 << 9;      ///< between the two ends of a region
  std::size_t downsets = 1 << 11;  ///< of a piece of it that does not decompose
  /// Asked at every task. Once true, what is left of the regions stays as it is.
  std::function<bool()> stop = {};
};

/// Replaces regions that touch the rest only at their two ends by paths.
///
///        / a - b \                      a task u, the tasks between, the first task t
///   ... u         t ...                 that all ways from u lead to (its immediate
///        \ c ----/                      post-dominator)
///
/// The data inside are written by u or inside, or are there from the start, and are read
/// inside or by t. Then what the region adds to memory depends on nothing but its own
/// progress, and the dominant schedule of what lies between (decompose.h) serves whatever
/// runs beside it: its segments become the tasks of a path from u to t, and all data
/// between become one datum from each segment to the next, of the size of the level
/// there. Innermost regions go first. Chains of tasks inside a region are brought to
/// their segments before.
///
/// A series-parallel graph with sizes on its data becomes a path, whatever its size, as
/// long as no region meets a limit; those that do are left as they are.
///
/// @return a block with the same least peak; an order of it, with tasks replaced by what
///         they stand for, is an order of `block` of the same peak
/// @par Cost  O((n + m) log n) and dominant_profile() of each region
/// @par Test  Linearise.KeepsTheLeastPeak
[[nodiscard]] LinearisedBlock linearise(DownsetBlock block,
                                        const LineariseLimits& limits = {});

}  // namespace espalier
