#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "espalier/model/operator_graph.h"

namespace espalier::training {

/// Widths from the input to the classes: "784x256x10".
/// @throws InvalidInput for fewer than two, or one below 1
[[nodiscard]] std::vector<std::int64_t> mlp_widths(std::string_view text);

/// A multilayer perceptron: Gemm with bias, and Relu between two of them. Its parameters
/// have no values.
[[nodiscard]] OperatorGraph mlp(const std::vector<std::int64_t>& widths,
                                std::int64_t batch);

}  // namespace espalier::training
