#pragma once

#include <span>
#include <string>
#include <vector>

#include "espalier/model/operator_graph.h"

namespace espalier {

/// The model with constants that are trained whatever training_graph() does by rule, and
/// with others that are not.
/// @param model  as it was read, not folded: folded constants have other names
/// @throws InvalidInput for a name of no constant of floating point, and for one in both
///         lists
/// @par Test  ChooseTrained.*
[[nodiscard]] OperatorGraph choose_trained(const OperatorGraph& model,
                                           std::span<const std::string> trained,
                                           std::span<const std::string> frozen);

/// Constants of floating point that a framework might train and training_graph() does
/// not, in the order of the model: scalars, and exponents of Pow. Not those that nothing
/// may train (Tensor::trained), nor such as an operator reads in place of an attribute.
/// @param model  folded
/// @throws as training_graph()
[[nodiscard]] std::vector<TensorId> left_alone(const OperatorGraph& model);

}  // namespace espalier
