#pragma once

#include "espalier/model/operator_graph.h"

namespace espalier {

/// Floating-point operations of an operator, by its shapes: 2 for each multiplication and
/// addition of Conv, Gemm and MatMul, and for each of the gradients that theirs give; of
/// all others one for each element that is read or written. Views and barriers cost
/// nothing. An estimate: it says which operators are dear beside which.
[[nodiscard]] Flops operator_work(const OperatorGraph& graph, OperatorId id);

}  // namespace espalier
