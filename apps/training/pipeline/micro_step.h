#pragma once

#include <cstdint>
#include <vector>

#include "espalier/model/pipeline.h"
#include "espalier/training/training_graph.h"

namespace espalier::training {

/// The training step of one micro-batch, cut into consecutive chunks of a pipeline.
struct MicroStep {
  TrainingGraph step;  ///< nothing is overwritten but by updates
  std::int32_t chunks = 1;
  std::vector<std::int32_t> chunk;  ///< by operator; of updates any

  /// What an operator is a part of. kBoth: of no part, as gradients are added up and
  /// parameters updated once for all micro-batches.
  std::vector<PipelineKind> part;  ///< by operator

  /// A parameter, its gradient, and who updates it.
  struct Trained {
    TensorId parameter{};
    std::vector<TensorId> partials;  ///< their sum is the gradient, from last to first
    OperatorId update{};
  };
  std::vector<Trained> trained;

  /// By chunk: operations of F, B and W, and the bytes of results that a micro-batch
  /// keeps from F to the end of B and of W, as PipelineChunk has them. What B writes for
  /// W counts as if F had written it.
  struct Work {
    Flops forward = 0, backward = 0, weight = 0;
    Bytes until_backward = 0, until_weight = 0;
  };
  std::vector<Work> work;
};

/// Forward operators are cut where as few bytes as can be pass and the chunk with the
/// most work has least; the backward of an operator is where the operator is.
///
/// @param split  gradients of weights are operators of their own (W) where they can be
/// @throws InvalidInput for more chunks than the model can be cut into; as
///         training_graph()
/// @par Test  MicroStep.*
[[nodiscard]] MicroStep micro_step(const OperatorGraph& model, TrainingOptions options,
                                   std::int32_t chunks, bool split);

}  // namespace espalier::training
