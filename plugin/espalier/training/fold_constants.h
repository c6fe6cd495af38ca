#pragma once

#include "espalier/model/operator_graph.h"

namespace espalier {

/// The graph without operators whose results are known before it runs:
///
///   - Shape and Size of any tensor, Constant, ConstantOfShape (as one repeated element,
///     not as its bytes);
///   - Reshape, Flatten, Squeeze, Unsqueeze, Identity of constants, without a copy;
///   - Transpose and Expand of a constant whose elements are all alike; neither these nor
///     those of what may be trained and has other readers, nor Expand of it: the elements
///     would be trained apart from themselves;
///   - Gather, Concat, Slice, Cast, Add, Sub, Mul, Div of small constants of integers:
///     what computes shapes.
///
/// What they write become constants, of which training leaves alone what follows from
/// Constant, from shapes of tensors and from whole numbers, and constants and parameters
/// that nobody reads any more go. A constant without a value (a model without its
/// weights) is one still. Other operators of constants stay as they are.
/// @par Cost  O(operators + tensors + reads)
[[nodiscard]] OperatorGraph fold_constants(const OperatorGraph& graph);

}  // namespace espalier
