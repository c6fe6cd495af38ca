#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "espalier/model/pipeline.h"
#include "espalier/sharding/pipeline_objective.h"

namespace espalier {

struct PipelineImprovementOptions {
  std::optional<Bytes> memory_bound = {};  ///< of each device, as the start keeps it
  PipelineObjective objective = PipelineObjective::kMakespan;
  std::int64_t replays = 0;     ///< that it may make
  Nanoseconds lower_bound = 0;  ///< where the objective is so short it ends
  std::uint64_t seed = 1;
  std::function<bool()> stop = {};  ///< true: give the best so far
};

/// Local search among orders of devices, from a schedule to one that is no longer.
///
/// A move takes one letter of a word (PipelineWords) to another place, or exchanges two;
/// one of the two places is on a longest way through the run, since no other move makes
/// it shorter. Words that hold too much, or an operation before what it follows, are
/// given up without a run. A move that makes the run longer by less than a threshold is
/// taken, too; the threshold falls to nothing (threshold accepting [DueckScheuer90]).
///
/// @param start  of F, B and W alone, inside the bound
/// @par Cost  O(operations) a replay; most moves end at the word, without one
/// @par Test  ImprovePipeline.KeepsTheBoundAndIsNeverLonger
[[nodiscard]] PipelineSchedule improve_pipeline(
    const Pipeline& pipeline, const PipelineSchedule& start,
    const PipelineImprovementOptions& options);

}  // namespace espalier
