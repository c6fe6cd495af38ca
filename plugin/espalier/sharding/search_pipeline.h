#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "espalier/model/error.h"
#include "espalier/model/pipeline.h"
#include "espalier/model/replay_pipeline.h"
#include "espalier/sharding/pipeline_objective.h"

namespace espalier {

struct PipelineSearchOptions {
  std::optional<Bytes> memory_bound = {};  ///< of each device; none: as much as is of use
  PipelineObjective objective = PipelineObjective::kMakespan;
  std::int64_t replays = 100000;  ///< that the local search may make
  bool named = true;              ///< begin with the schedules that have a name, too
  std::uint64_t seed = 1;
  std::function<bool()> stop = {};  ///< true: give the best so far
};

struct PipelineAnswer {
  PipelineSchedule schedule;
  PipelineRun run;
  Nanoseconds value = 0;        ///< of the objective
  Nanoseconds lower_bound = 0;  ///< no schedule inside the bound has less
  std::string origin;           ///< "zb-h1", "list", "local search" …
  [[nodiscard]] bool proved() const { return value == lower_bound; }
};

/// What no schedule can beat: the largest over devices d of
///   head_d + m (f_d + b_d + w_d)                   it works without a pause,
///   head_d + m (f_d + b_d) + the least way back    its last gradient goes back to chunk
///   0, head_d + m A_d / (M - persistent_d)            its memory is full all the time,
/// where head_d is the way of a micro-batch to it (0 for kSpan, and no way back) and A_d,
/// bytes times seconds, is what a micro-batch occupies on it at the least; and the way of
/// one micro-batch forth and back.
[[nodiscard]] Nanoseconds pipeline_lower_bound(const Pipeline& pipeline,
                                               std::optional<Bytes> memory_bound,
                                               PipelineObjective objective);

/// A schedule as short as it finds inside a bound for each device: the named ones that
/// the chunks allow, list schedules (a gradient before a forward before a weight
/// gradient; forwards as far ahead as a window and the memory let them), and from the
/// best of these a local search that moves operations in the orders of devices.
///
/// A device always keeps room for one micro-batch to go all its way, so a list schedule
/// never waits in a circle.
///
/// @return the best, or Infeasible: the least is one micro-batch at a time, exactly
/// @par Cost  O(operations log operations) for each list schedule and O(operations) a
///            replay; deterministic for a seed without `stop`
/// @par Test  SearchPipeline.IsNeverBelowExhaustiveSearch
[[nodiscard]] Expected<PipelineAnswer> search_pipeline(
    const Pipeline& pipeline, const PipelineSearchOptions& options = {});

}  // namespace espalier
