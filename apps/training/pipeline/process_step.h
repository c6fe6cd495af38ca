#pragma once

#include <cstdint>
#include <vector>

#include "espalier/sharding/named_pipelines.h"
#include "espalier/sharding/zero.h"
#include "training/pipeline/micro_step.h"

namespace espalier::training {

/// How the processes of a job share a training step. Process `(device * ranks + rank) *
/// tensor + part` has the chunks of its device, every ranks-th micro-batch, from the
/// rank-th on, and that part of divided layers (divide_layers.h).
struct SharedStep {
  std::int32_t devices = 1;        ///< of the pipeline
  std::int32_t ranks = 1;          ///< of data parallelism
  std::int32_t tensor = 1;         ///< of tensor parallelism
  std::int32_t micro_batches = 1;  ///< of each rank
  ZeroStage zero = ZeroStage::kNone;
  /// By chunk: part of its forward operators, from the first on, that run again for the
  /// way back instead of keeping what it reads; empty: none.
  std::vector<double> recomputed = {};

  [[nodiscard]] std::int32_t processes() const { return devices * ranks * tensor; }
  /// Micro-batches of a step, of all ranks.
  [[nodiscard]] std::int64_t all_micro_batches() const {
    return std::int64_t{micro_batches} * ranks;
  }
};

/// The elements of a parameter that are a rank's: all ranks but the last ones have
/// equally many.
struct ElementRange {
  std::int64_t first = 0, count = 0;
};
[[nodiscard]] ElementRange rank_elements(std::int64_t elements, std::int32_t ranks,
                                         std::int32_t rank);

/// What one process runs in a step: a graph of its own whose Send and Receive are those
/// of the other processes' graphs. Operators stand in the order in which they run.
///
/// A gradient is summed up in the order of the micro-batches of the step, as one process
/// would do, except across ranks below stage 2, and across the devices that share a
/// parameter. What is not said of ZeRO's stages (espalier/sharding/zero.h): whole
/// gradients of stage 2 and 3 are reduced as soon as an operator has written them; stage
/// 3 gathers a parameter for an operation of the pipeline right before its first reader
/// there. A parameter whose readers are on several devices is updated on the first one's,
/// which gets the others' gradients and gives them what it has become. What the members
/// of a tensor group have whole is the same bits at all of them.
struct ProcessStep {
  /// `loss` is the sum over all micro-batches, at every process; gradients are sums.
  TrainingGraph training;

  /// An input: that of the micro-batch's step, of which micro-batch of the whole step.
  struct Input {
    TensorId tensor{}, of{};
    std::int64_t micro_batch = 0;
  };
  std::vector<Input> inputs;
  /// What is known from the start: that of the micro-batch's step, from which element on.
  struct Known {
    TensorId tensor{}, of{};
    std::int64_t first = 0;
  };
  std::vector<Known> known;

  /// Persistent: parameters, sums of gradients, states of the optimiser. Sums lie in the
  /// arena from the first gradient to the update.
  Bytes parameter_bytes = 0, gradient_bytes = 0, state_bytes = 0;
  [[nodiscard]] Bytes persistent_bytes() const {
    return checked_add(parameter_bytes, checked_add(gradient_bytes, state_bytes));
  }
  /// By operator: its part of the pipeline's operations; kBoth: gradients and updates.
  std::vector<PipelineKind> part;
};

/// The steps of all processes. Messages are in one order that all processes keep, each in
/// its own part of it, so that no two wait for each other.
/// @param schedule  of the pipeline, whose chunks are those of `micro`
/// @throws std::logic_error for a schedule that waits for itself
/// @par Test  ProcessStep.*, PipelineStep.*
[[nodiscard]] std::vector<ProcessStep> process_steps(const MicroStep& micro,
                                                     const SharedStep& shared,
                                                     const Pipeline& pipeline,
                                                     const PipelineSchedule& schedule);

}  // namespace espalier::training
