#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "espalier/model/buffer_set.h"
#include "espalier/model/replay_pipeline.h"
#include "espalier/model/validate.h"
#include "espalier/sharding/training_plan.h"

namespace espalier {

/// Everything that a process of one stage holds for a while in a step: its tensors, what
/// it keeps for micro-batches under way, what it recomputes, gathered parameters and
/// whole gradients, each from the operator that makes it to the one that frees it. Times
/// count operators. What it holds all the time is not among them: StageMemory::fixed().
struct RankBuffers {
  std::vector<Buffer> buffers;
  std::vector<std::string> names;  ///< "b3 block 12: scores" …
};

/// Follows the order of the stage's device operator by operator; shares no code with
/// layer_memory() and StageCosts::memory(), whose peaks it has to give.
/// @par Cost  O(micro-batches x layers x operators)
[[nodiscard]] RankBuffers rank_buffers(const StageCosts& costs, const TrainingPlan& plan,
                                       std::int32_t stage);

/// The plan with as many micro-batches as show all that its processes ever hold: alone, a
/// stage ends one before the next begins; in 1f1b all is as before once the first has
/// ended and the next has begun; gpipe holds all of them at once.
[[nodiscard]] TrainingPlan first_micro_batches(TrainingPlan plan);

/// The most that is alive at one time.
[[nodiscard]] Bytes load_of(const std::vector<Buffer>& buffers);

/// Every process of the plan replayed by itself: each layer in one stage, the stages'
/// peaks those of their buffers. Of micro-batches that are like those before them the
/// first are followed (first_micro_batches()), so that in 1f1b any number is checked.
[[nodiscard]] Violations validate_training_memory(const StageCosts& costs,
                                                  const TrainingPlan& plan);

/// The same, and the step that of the pipeline's independently checked run.
/// @par Cost  O(stages x micro-batches) on top
[[nodiscard]] Violations validate_training_plan(const StageCosts& costs,
                                                const TrainingPlan& plan);

}  // namespace espalier
