#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "espalier/sequential/downsets/downset_block.h"
#include "espalier/sequential/segments/profile.h"

namespace espalier {

/// Tasks of a block, in a topological order of the block.
using TaskSet = std::vector<BlockTaskId>;

/// The pieces of a block that do not touch: no precedence and no datum that is ever freed
/// goes from one to another. Their levels add up, so that dominant schedules of the
/// pieces merge into one of the block (profile.h). By least task in topological order.
/// O(n + m).
[[nodiscard]] std::vector<TaskSet> independent_parts(const BlockIndex& block);

/// The pieces of a block that every order runs one after the other: single tasks that
/// come before or after each other task, and what lies between them. What is in memory
/// between two pieces is the same in every order, so that each can be ordered on its own.
///
/// At position k of a topological order stands such a task when all tasks before it are
/// its predecessors (it is the only one of positions 0 … k without a successor there) and
/// all tasks behind it its successors. O(n + m).
[[nodiscard]] std::vector<TaskSet> consecutive_parts(const BlockIndex& block);

/// What limits dominant_profile().
struct ProfileLimits {
  std::size_t downsets = 1 << 14;   ///< of a piece that does not decompose
  int depth = 12;                   ///< of pieces inside pieces
  std::function<bool()> stop = {};  ///< asked before every piece
};

/// The dominant schedule of a block as a profile: pieces that do not touch in parallel,
/// consecutive pieces in series, dominant schedules (dominant_schedule.h) over what does
/// not decompose.
///
/// @param names  what the tasks are called in ropes; `next` as in profile.h
/// @return nullopt when a limit is met
/// @par Test  Decompose.ProfilesHaveTheLeastPeak
[[nodiscard]] std::optional<Profile> dominant_profile(const DownsetBlock& block,
                                                      std::span<const TaskId> names,
                                                      std::span<TaskId> next,
                                                      const ProfileLimits& limits = {});

}  // namespace espalier
