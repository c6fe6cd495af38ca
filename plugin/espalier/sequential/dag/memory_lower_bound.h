#pragma once

#include <cstddef>
#include <functional>

#include "espalier/sequential/downsets/downset_block.h"

namespace espalier {

inline constexpr std::size_t kMostTasksByPrecedence = 1 << 14;

/// Bytes that any order of the block needs: the most, over all tasks, of what must be in
/// memory while the task runs. That is its cost and, besides, every datum that
///   - was there from the start or is written by one of the tasks before it, and
///   - stays, or is read by the task itself or by one of the tasks after it,
/// "before" and "after" by precedence, so in every order. Also the levels at start and
/// end.
///
/// @param most_tasks  of larger blocks only inputs and data that are there all the time
///                    are counted
/// @param stop  asked now and then; when true, only those are counted, too
/// @par Cost  O((n + m) n / 64) time for n tasks and m data or reads, O(n^2) bits
/// @par Test  MemoryLowerBound.NeverExceedsTheOptimum
[[nodiscard]] Bytes memory_lower_bound(const BlockIndex& block,
                                       std::size_t most_tasks = kMostTasksByPrecedence,
                                       const std::function<bool()>& stop = {});

}  // namespace espalier
