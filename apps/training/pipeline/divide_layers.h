#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "espalier/model/operator_graph.h"
#include "training/operators/element_runs.h"

namespace espalier::training {

// Operators between the processes of a tensor group
// =================================================
//
//   GroupCopy (x) -> y: y = x; the gradient of x is the sum of the processes' gradients
//   GroupSum (x) -> y: y is the sum of the processes' x; the gradient of x is that of y
//
// Only StepDrafter knows them: it makes messages and sums of them, or nothing at all.

[[nodiscard]] bool is_group_operator(std::string_view type);
/// Whether it is the one of a pair that sums up: GroupSum, GroupCopyGrad.
[[nodiscard]] bool sums_over_group(std::string_view type);

/// A model as each process of a tensor group runs it. Tensors have the names of the whole
/// model; those that are divided have fewer elements.
struct DividedModel {
  OperatorGraph model;
  /// Parameters and constants that are divided, by name: the elements of part 0. Those of
  /// part p begin p runs later.
  std::map<std::string, ElementRuns, std::less<>> divided;
  std::int64_t products = 0;          ///< Gemm and MatMul with a weight
  std::int64_t divided_products = 0;  ///< of them
};

/// Divides pairs of linear layers among the processes of a group [Shoeybi19]: of the
/// first ones of a pair the columns of the weight, of the last ones the rows, and what
/// lies between them by columns, features or heads:
///
///   x -GroupCopy-> Gemm (columns) -> Gelu … -> Gemm (rows) -GroupSum-> + bias -> y
///
/// so that one sum over the group is needed on the way there and one on the way back. A
/// first layer is divided where this leads to last ones only: every operator between is
/// known to work on parts (element by element, Reshape, Transpose, Split, Softmax along
/// another axis, products by head). All other operators are in every process, whole.
///
/// @param model  folded, operators after those they read from
/// @param parts  processes of the group
/// @throws InvalidInput where nothing can be divided
/// @par Cost  O(products x operators between a pair)
/// @par Test  DivideLayers.*, PipelineStep.TensorGroupsLoseTheSame
[[nodiscard]] DividedModel divide_layers(const OperatorGraph& model, std::int32_t parts);

}  // namespace espalier::training
