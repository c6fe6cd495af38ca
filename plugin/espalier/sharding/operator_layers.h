#pragma once

#include <cstddef>

#include "espalier/model/operator_graph.h"
#include "espalier/sharding/layer.h"

namespace espalier {

struct OperatorLayerOptions {
  std::size_t most_layers = 64;
  /// Tensors of 32-bit floats take 16 bits each.
  bool halved = false;
};

/// A model with its training step as a chain of layers: those between the tensors through
/// which every way from its inputs to its loss leads (training/backbone.h). Each layer
/// reads what the model is given anew by itself; gradients of parameters are added to
/// those kept from step to step. Operators of a tensor group are not divided.
///
/// @param model  folded (training/fold_constants.h)
/// @throws InvalidInput as training_graph(), and naming the layers between which
///         something else passes than one tensor and its gradient
/// @par Test  OperatorLayers.*
[[nodiscard]] LayeredModel operator_layers(const OperatorGraph& model,
                                           const OperatorLayerOptions& options = {});

}  // namespace espalier
