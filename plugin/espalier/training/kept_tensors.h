#pragma once

#include <vector>

#include "espalier/model/operator_graph.h"
#include "espalier/training/gradient_rules.h"
#include "espalier/training/training_options.h"

namespace espalier {

/// What a forward operator gives out beside its first output, for the way back: tensors
/// named after that output.
[[nodiscard]] std::vector<Tensor> kept_tensors(const OperatorGraph& model,
                                               const Operator& op, Kept kept,
                                               const TrainingOptions& options);

}  // namespace espalier
