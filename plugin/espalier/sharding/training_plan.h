#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "espalier/model/error.h"
#include "espalier/model/pipeline.h"
#include "espalier/sharding/named_pipelines.h"
#include "espalier/sharding/stage_costs.h"

namespace espalier {

/// How N = data x pipeline x tensor processes share a step of training.
struct TrainingSetting {
  std::int32_t data = 1, pipeline = 1, tensor = 1;
  std::int64_t micro_batch = 1;    ///< samples, of each rank of data parallelism
  std::int32_t micro_batches = 1;  ///< batch / data / micro_batch
  ZeroStage zero = ZeroStage::kNone;
  PipelineScheme schedule = PipelineScheme::kOneForwardOneBackward;
  bool operator==(const TrainingSetting&) const = default;
};

/// "data 4 x pipeline 2 x tensor 1, zero-1, 8 micro-batches of 2, 1f1b"
[[nodiscard]] std::string describe(const TrainingSetting& setting);

/// The answer: what each stage of the pipeline does, holds and takes. The processes of a
/// stage, data x tensor of them, are alike.
struct TrainingPlan {
  struct Stage {
    StagePart part;
    std::int64_t under_way = 1;  ///< micro-batches at a time, at most
    StageMemory memory;
    StageTimes times;
    Bytes peak_bytes = 0;
    Nanoseconds ends = 0;  ///< its last backward
  };
  TrainingSetting setting;
  std::vector<Stage> stages;
  Nanoseconds step = 0;  ///< until the last process has updated its parameters

  [[nodiscard]] Bytes peak_bytes() const;  ///< of the process that needs most
};

/// Micro-batches that stage s has under way at a time: all of them in gpipe, else
/// min(p - s, m).
[[nodiscard]] std::int64_t under_way(const TrainingSetting& setting, std::int32_t stage);

/// The pipeline of a plan's stages: a chunk each.
[[nodiscard]] Pipeline pipeline_of(const StageCosts& costs, const TrainingPlan& plan);

/// Figures of the plan whose stages are these parts.
/// @param setting  gpipe or 1f1b
/// @throws InvalidInput where the parts do not follow each other from the first layer to
///         the last, one a stage
[[nodiscard]] TrainingPlan training_plan(const StageCosts& costs,
                                         const TrainingSetting& setting,
                                         const std::vector<StagePart>& parts);

/// The fastest plan inside a bound that is found for one setting: cuts from a family that
/// does not depend on the bound (least longest stage, least memory of the fullest one,
/// and between), and in each stage as few recomputed layers, from its first on, as fit.
/// So more memory never makes it slower.
///
/// @return Infeasible with the least bound that would do among these
/// @par Cost  O(L^2 p) for each of some ten cuts
[[nodiscard]] Expected<TrainingPlan> plan_setting(const StageCosts& costs,
                                                  const TrainingSetting& setting,
                                                  Bytes bound);

}  // namespace espalier
