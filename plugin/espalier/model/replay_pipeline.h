#pragma once

#include <optional>
#include <vector>

#include "espalier/model/pipeline.h"
#include "espalier/model/validate.h"

namespace espalier {

/// When each operation of a schedule starts, and what that makes of time and memory.
struct PipelineRun {
  std::vector<std::vector<Nanoseconds>> starts;  ///< by device, in its order
  Nanoseconds makespan = 0;                      ///< the end of the last operation

  struct Device {
    Nanoseconds busy = 0;
    Nanoseconds first = 0, last = 0;  ///< begin of its first and end of its last
    Bytes peak_bytes = 0;             ///< persistent ones included
    /// That it waits, from the begin of the step to its end.
    [[nodiscard]] Nanoseconds idle(Nanoseconds makespan) const { return makespan - busy; }
    /// That it waits between its first and its last operation: what a step costs whose
    /// end needs no barrier.
    [[nodiscard]] Nanoseconds idle_inside() const { return last - first - busy; }
  };
  std::vector<Device> devices;
};

/// Starts every operation as soon as its device and what it follows allow. Memory of a
/// device: its persistent bytes, and of each micro-batch and chunk `until_backward` from
/// the begin of F to the end of B and `until_weight` from there to the end of W.
///
/// @return nothing when the orders wait for each other in a circle
/// @throws InvalidInput for an operation that is missing, twice there, or on a device
///         that does not have its chunk
/// @par Cost  O(operations)
[[nodiscard]] std::optional<PipelineRun> replay_pipeline(
    const Pipeline& pipeline, const PipelineSchedule& schedule);

/// What a device holds from a time on.
struct PipelineHolding {
  Nanoseconds time = 0;
  Bytes bytes = 0;
  bool operator==(const PipelineHolding&) const = default;
};

/// What each device holds, from 0 with its persistent bytes on, moment by moment: two of
/// the same time where one micro-batch leaves as the next one comes.
/// @param run  of the schedule
[[nodiscard]] std::vector<std::vector<PipelineHolding>> pipeline_memory(
    const Pipeline& pipeline, const PipelineSchedule& schedule, const PipelineRun& run);

/// The run is one of the schedule: every operation once on the device of its chunk, none
/// before what it follows has ended and arrived, one at a time, and the figures are those
/// of the starts. Shares no code with replay_pipeline() and the planners.
///
/// @par Cost  O(operations log operations)
[[nodiscard]] Violations validate_pipeline(const Pipeline& pipeline,
                                           const PipelineSchedule& schedule,
                                           const PipelineRun& run);

}  // namespace espalier
