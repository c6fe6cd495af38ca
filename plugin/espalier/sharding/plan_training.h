#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "espalier/sharding/training_plan.h"

namespace espalier {

/// What is trained.
struct TrainingModel {
  std::string name;
  std::int64_t parameters = 0;
  std::int64_t layers = 1;  ///< at which a pipeline can cut it
  /// Why a tensor group of so many processes cannot divide it; empty where it can.
  std::function<std::string(std::int32_t tensor)> why_not_split;
  /// The layers of one process of a tensor group, for micro-batches of so many samples.
  std::function<LayeredModel(std::int32_t tensor, std::int64_t micro_batch)> split;
};

struct TrainingQuestion {
  std::int32_t processes = 1;
  std::int64_t batch = 1;  ///< samples of a step
  Bytes bound = 0;         ///< of each process
  OptimiserBytes optimiser;
  Cluster cluster;
  std::vector<ZeroStage> zero = {ZeroStage::kNone, ZeroStage::kStates,
                                 ZeroStage::kGradients, ZeroStage::kParameters};
  std::vector<PipelineScheme> schedules = {PipelineScheme::kOneForwardOneBackward};
  /// Called with the part that is done, 0 … 1; false: stop with what there is.
  std::function<bool(double)> progress = {};
};

/// Why there is no plan of a kind.
struct RejectedSetting {
  enum class Reason : std::uint8_t {
    kBatch,   ///< the ranks of data parallelism do not divide the batch
    kTensor,  ///< the tensor group does not divide the model
    kLayers,  ///< fewer layers than stages
    kMemory   ///< needs `least_bytes`
  };
  /// Of the first two: one micro-batch of one sample stands for all of these processes'
  /// settings.
  TrainingSetting setting;
  Reason reason = Reason::kMemory;
  std::string why;
  Bytes least_bytes = 0;  ///< that some cut and recomputation would do with
  bool laid_out = false;  ///< `least_bytes` holds layouts of all its processes
};
[[nodiscard]] std::string_view name(RejectedSetting::Reason reason);

struct TrainingPlans {
  std::vector<TrainingPlan> plans;        ///< that fit, the fastest first
  std::vector<RejectedSetting> rejected;  ///< those that nearly fit first
  /// Flops of the batch over those of all processes: no plan takes less.
  Nanoseconds lower_bound = 0;
  bool stopped = false;
  [[nodiscard]] std::int64_t considered() const {
    return static_cast<std::int64_t>(plans.size() + rejected.size());
  }
  /// Into their order, after a change.
  void sort();
};

/// Every way to share a step: data x pipeline x tensor = processes, micro-batches that
/// divide each rank's samples, ZeRO's stages (none for one rank), schedules; each with
/// the fastest cut and recomputation found inside the bound (plan_setting()). Of equal
/// steps the plan of less memory comes first.
///
/// @throws InvalidInput for less than one process or sample; OverflowError
/// @par Test  PlanTraining.IsTheBestOfAllThatCanBeEnumerated
[[nodiscard]] TrainingPlans plan_training(const TrainingModel& model,
                                          const TrainingQuestion& question);

/// All positive divisors, ascending.
[[nodiscard]] std::vector<std::int64_t> divisors(std::int64_t n);

}  // namespace espalier
