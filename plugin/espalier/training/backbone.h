#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "espalier/model/chain.h"
#include "espalier/training/training_graph.h"

namespace espalier {

/// A training step as a chain of stages.
///
/// Between two stages one tensor passes that an operator has written, and no other: the
/// operators that write these are the cut operators, through which every way from the
/// model's inputs to its loss leads. Inputs, parameters and constants are there for every
/// stage. The last stage is the loss.
struct Backbone {
  struct Stage {
    std::vector<OperatorId> forward, backward;  ///< in the order of the step
    std::optional<TensorId> input;              ///< what passes; the first stage: nothing
  };
  std::vector<Stage> stages;
  std::vector<OperatorId> last;  ///< updates that wait for all gradients
  /// Sizes in bytes; costs are units of `unit` operations.
  std::shared_ptr<const Chain> chain;
  Flops unit = 1;
  Flops forward_work = 0, all_work = 0;
};

/// @param step  made without in_place, so that what is written stays as it is
/// @param most_stages  beyond that, neighbours that keep least are made one
[[nodiscard]] Backbone backbone(const TrainingGraph& step, std::size_t most_stages = 64);

}  // namespace espalier
