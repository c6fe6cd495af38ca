#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "espalier/sequential/downsets/downset_block.h"

namespace espalier {

/// A run of tasks of a block and what it does to the memory in use when it starts.
struct BlockSegment {
  Bytes peak = 0;  ///< highest over the start; at least max(0, net)
  Bytes net = 0;   ///< end − start, may be negative
  std::vector<BlockTaskId> tasks;
};

/// The dominant schedule of a block: the one order that serves in every surrounding.
///
/// A schedule dominates another when the two can be walked along side by side, each
/// forwards only and from start to end, with the first never above the second. Replacing
/// a part of any order that touches the rest only at its start and end by a dominating
/// schedule never raises the peak, so a block can stand for a chain of segments.
/// One that dominates all others always exists, since v is submodular (downset_block.h):
///
///   S0 := a downset of least v
///   from the empty set, until S0: of the downsets that can be reached inside S0 at the
///     least threshold at which any lower level (or S0) can be reached at all, go to the
///     lowest. Each step is a segment: net < 0, peaks strictly increasing.
///   from all tasks backwards, until S0: the same, above S0. The segments have
///     net >= 0, and peak − net strictly decreases.
///
/// These are the hills and valleys of [Liu87], for blocks of any shape.
///
/// @param most_downsets  gives up when the block has more
/// @return segments in the order in which they run, together each task once; nullopt:
///         given up
/// @par Cost  O(D n log D) time a segment for D downsets, O(D n / 64 + D w) memory with w
///            the most tasks that are ready together
/// @par Test  DominantSchedule.DominatesEveryOrderOfSmallBlocks
[[nodiscard]] std::optional<std::vector<BlockSegment>> dominant_schedule(
    const DownsetBlock& block, std::size_t most_downsets = 1 << 16);

}  // namespace espalier
