#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "espalier/sequential/downsets/downset_walk.h"

namespace espalier {

/// How a greedy order chooses between the tasks that are ready. In time reversed, too.
enum class GreedyRule : std::uint8_t {
  kLeastChange,  ///< the task after which least is in memory; then the latest ready
  kLatest,       ///< what frees memory; else the task that became ready last
  kLeastCost,    ///< what frees memory; else the task that needs least while it runs
};

/// An order of the tasks of a block, as it is to be run, found by one walk forwards or
/// backwards. No promise of quality: a start for searches, and an answer for graphs that
/// are too large for them.
/// @param stop  asked at every 1024th task; when true, the result is empty
/// @par Cost  O((n + reads) log n)
[[nodiscard]] std::vector<BlockTaskId> greedy_order(
    const BlockIndex& block, DownsetWalk::Direction direction, GreedyRule rule,
    const std::function<bool()>& stop = {});

/// What one order of a block needs.
struct OrderCost {
  Bytes peak = 0;              ///< at least the levels at start and end
  std::size_t most_ready = 0;  ///< tasks that were ready at one time
};

/// @param order  each task once, predecessors first
[[nodiscard]] OrderCost cost_of(const BlockIndex& block,
                                const std::vector<BlockTaskId>& order);

}  // namespace espalier
