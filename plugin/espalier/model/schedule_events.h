#pragma once

#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "espalier/model/schedule.h"

namespace espalier {

/// What happens at one time, in the order in which it counts.
enum class SchedulePhase : std::uint8_t { kEnd, kNoDuration, kStart };

/// A task starts, ends, or runs in no time.
struct ScheduleEvent {
  Seconds time;
  SchedulePhase phase;
  std::int32_t rank;  ///< position in the sequence
  TaskId task;
  friend bool operator<(const ScheduleEvent& a, const ScheduleEvent& b) {
    return std::tie(a.time, a.phase, a.rank) < std::tie(b.time, b.phase, b.rank);
  }
};

/// Each task once, as the schedule names them, or else in postorder.
[[nodiscard]] inline std::span<const TaskId> sequence_of(const TaskTree& tree,
                                                         const Schedule& schedule) {
  return schedule.sequence.empty() ? tree.postorder() : std::span(schedule.sequence);
}

/// All of a schedule. At equal times, what ends goes before what starts; tasks of no
/// duration run between the two, in the order of the sequence.
///
/// @param sequence  each task once
/// @par Cost  O(n log n)
/// @par Test  Replay.*, RunPicture.*
[[nodiscard]] std::vector<ScheduleEvent> events_in_order(
    const Schedule& schedule, std::span<const TaskId> sequence);

}  // namespace espalier
