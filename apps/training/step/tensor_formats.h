#pragma once

#include <vector>

#include "training/step/recipe.h"

namespace espalier::training {

/// A format for each tensor: the fastest where all operators that touch it can do with it
/// and all tensors that share its bytes have its extents; the same for tensors that an
/// operator works on element by element, or joins.
/// @param recipes  by operator
/// @par Cost  O((tensors + uses) · formats)
[[nodiscard]] std::vector<TensorFormat> choose_formats(
    const OperatorGraph& graph, const std::vector<Recipe>& recipes);

}  // namespace espalier::training
