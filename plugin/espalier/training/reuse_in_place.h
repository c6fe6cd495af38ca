#pragma once

#include "espalier/model/operator_graph.h"

namespace espalier {

/// The graph, in which results of operators that work element by element (Relu, Add,
/// Dropout, their gradients, Accumulate, the gradient of the loss) overwrite an input:
/// one of the same element type and bytes that an operator has written, that is not kept,
/// and that no later operator reads, in the order of the graph. Ids stay as they are.
/// @par Cost  O(operators + tensors + reads)
[[nodiscard]] OperatorGraph reuse_in_place(const OperatorGraph& graph);

}  // namespace espalier
