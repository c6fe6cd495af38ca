#include "espalier/sharding/pipeline_objective.h"

#include <algorithm>

namespace espalier {

Nanoseconds objective_value(const PipelineRun& run, PipelineObjective objective) {
  Nanoseconds longest = 0;
  for (const PipelineRun::Device& device : run.devices)
    longest = std::max(longest, objective_value(device, objective));
  return longest;
}

}  // namespace espalier
