#pragma once

#include <optional>
#include <vector>

#include "espalier/model/operator_graph.h"

namespace espalier {

/// What of a model a training step runs, and what it trains.
struct ModelAnalysis {
  TensorId scores{};  ///< what the loss is taken of
  /// Where the classes begin in their shape; nothing: the loss is a mean of squares.
  std::optional<std::size_t> axis;
  std::vector<bool> runs;     ///< by operator: it leads to the scores
  std::vector<bool> trained;  ///< by tensor
  /// By tensor: it depends on one that is trained, or is one.
  std::vector<bool> has_gradient;
};

/// @throws as training_graph()
[[nodiscard]] ModelAnalysis analyse_model(const OperatorGraph& model);

}  // namespace espalier
