#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "espalier/sharding/plan_pipeline.h"
#include "training/pipeline/divide_layers.h"
#include "training/pipeline/process_step.h"
#include "training/step/train_job.h"

namespace espalier::training {

/// Times of the stages of a pipeline that were measured.
struct StageTimes {
  std::vector<PipelineStage> stages;
  Nanoseconds transfer = 0;  ///< from a stage to the next
};

/// @throws InvalidInput for another number of stages than the pipeline has processes
void check(const StageTimes& measured, const SharedStep& shared);

/// The order of each device's operations, and what SharedTraining::pipeline() says of it.
struct SharedSchedule {
  PipelineSchedule schedule;
  std::string origin;           ///< its name, or how a search found it
  std::vector<Bytes> held;      ///< by device: results that micro-batches keep, at most
  Nanoseconds makespan = 0;     ///< as long as it is
  Nanoseconds lower_bound = 0;  ///< no schedule of the same chunks and bounds is shorter
};

/// A training step that processes share, as all of them see it: the micro-batch's step,
/// and its chunks on devices.
class SharedTraining {
 public:
  /// @param model     for one micro-batch; whole, though a tensor group divides it
  /// @param measured  times of the stages; nothing: as many nanoseconds as operations
  /// @throws InvalidInput for what the form does not allow; as check(), micro_step() and
  ///         divide_layers()
  SharedTraining(const OperatorGraph& model, Optimiser optimiser,
                 const SharedStep& shared, const PipelineForm& form,
                 const std::optional<StageTimes>& measured = {});

  /// The schedule of the form, the same at every process. One that is searched for keeps
  /// inside bounds on what micro-batches keep, where there are any.
  /// @param bounds  by device; empty: none. Of no meaning to a schedule with a name
  /// @return Infeasible where a bound does not hold one micro-batch
  [[nodiscard]] Expected<SharedSchedule> schedule(
      std::span<const Bytes> bounds = {}) const;
  /// By device: the least such bound.
  [[nodiscard]] std::vector<Bytes> least_held() const;

  [[nodiscard]] const MicroStep& micro() const { return micro_; }
  [[nodiscard]] const SharedStep& shared() const { return shared_; }
  /// Linear layers of the model, and those of them that a tensor group divides.
  [[nodiscard]] std::int64_t products() const { return divided_.products; }
  [[nodiscard]] std::int64_t divided_products() const {
    return divided_.divided_products;
  }
  /// Without what is held all the time.
  [[nodiscard]] const Pipeline& pipeline() const { return *pipeline_; }

  /// What a process runs. @param recomputed  SharedStep::recomputed
  [[nodiscard]] ProcessStep step_of(std::int32_t process,
                                    const PipelineSchedule& schedule,
                                    std::vector<double> recomputed) const;

  /// What a tensor of the micro-batch's step holds before the first step, at a process.
  void fill_known(const ProcessStep::Known& known, std::int32_t process,
                  std::uint64_t seed, std::span<std::byte> bytes) const;

 private:
  [[nodiscard]] Pipeline with_room(std::span<const Bytes> bounds) const;

  SharedStep shared_;
  PipelineForm form_;
  DividedModel divided_;  // empty unless a tensor group divides the model
  OperatorGraph whole_;   // then: of the undivided step
  MicroStep micro_;
  std::optional<Pipeline> pipeline_;
};

/// Values for an input of the micro-batch's step. @param micro_batch  counted over all
/// steps and ranks
using FillMicroBatch =
    std::function<void(std::int64_t micro_batch, TensorId of, std::span<std::byte>)>;

/// What one process does of a SharedTraining: a TrainJob whose graph has messages. Phases
/// as there.
class PipelineJob {
 public:
  /// @param training  outlives this
  /// @param schedule  of the training
  /// @param options  of one process; what is said of its part and of the gradients' scale
  ///                 is set here
  PipelineJob(const SharedTraining& training, const PipelineSchedule& schedule,
              std::int32_t process, std::vector<double> recomputed,
              const TrainOptions& options);

  [[nodiscard]] const ProcessStep& step() const { return step_; }
  [[nodiscard]] TrainJob& job() { return *job_; }
  [[nodiscard]] const TrainJob& job() const { return *job_; }

  /// As TrainJob::run(); losses are means over all micro-batches, the same at every
  /// process. @param fill  no value: random data, the same in each step
  [[nodiscard]] TrainResult run(
      const FillMicroBatch& fill = {},
      const std::function<bool(std::int64_t, float, Seconds)>& ended = {});

 private:
  [[nodiscard]] TrainOptions options_for(TrainOptions options) const;

  const SharedTraining& training_;
  std::int32_t process_;
  std::uint64_t seed_;
  ProcessStep step_;
  std::unordered_map<TensorId, ProcessStep::Input> inputs_;
  std::unordered_map<TensorId, ProcessStep::Known> known_;
  std::unique_ptr<TrainJob> job_;
};

/// What a process did in its fastest step (StepRun::operator_seconds()): of one operation
/// of each kind, the mean over its micro-batches; `beside` for each micro-batch, sums of
/// gradients and messages; once a step updates, and data and submission.
struct OperationSeconds {
  Seconds forward = 0, backward = 0, weight = 0, beside = 0, update = 0, other = 0;
};
[[nodiscard]] OperationSeconds operation_seconds(const ProcessStep& step,
                                                 const SharedStep& shared,
                                                 const TrainResult& result);

}  // namespace espalier::training
