#pragma once

#include <cstdint>

#include "espalier/model/replay_pipeline.h"

namespace espalier {

/// What a schedule of a pipeline is to be short in.
enum class PipelineObjective : std::uint8_t {
  kMakespan,  ///< from the begin of the step to its end
  kSpan       ///< of the device that needs longest from its first operation to its last:
              ///< a step whose end needs no barrier
};

/// What counts for the objective of one device of a run; that of the run is the longest.
[[nodiscard]] inline Nanoseconds objective_value(const PipelineRun::Device& device,
                                                 PipelineObjective objective) {
  return device.last - (objective == PipelineObjective::kSpan ? device.first : 0);
}
[[nodiscard]] Nanoseconds objective_value(const PipelineRun& run,
                                          PipelineObjective objective);

}  // namespace espalier
