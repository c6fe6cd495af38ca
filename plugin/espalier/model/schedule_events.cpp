#include "espalier/model/schedule_events.h"

#include <algorithm>

namespace espalier {

std::vector<ScheduleEvent> events_in_order(const Schedule& schedule,
                                           std::span<const TaskId> sequence) {
  std::vector<ScheduleEvent> events;
  events.reserve(2 * sequence.size());
  for (std::size_t k = 0; k < sequence.size(); ++k) {
    const TaskId task = sequence[k];
    const Seconds start = schedule.start[index(task)], end = schedule.end[index(task)];
    const auto rank = static_cast<std::int32_t>(k);
    if (start == end) {
      events.push_back({start, SchedulePhase::kNoDuration, rank, task});
    } else {
      events.push_back({start, SchedulePhase::kStart, rank, task});
      events.push_back({end, SchedulePhase::kEnd, rank, task});
    }
  }
  std::sort(events.begin(), events.end());
  return events;
}

}  // namespace espalier
