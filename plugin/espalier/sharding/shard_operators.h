#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "espalier/model/operator_graph.h"
#include "espalier/model/sharding_problem.h"
#include "espalier/sharding/mesh.h"
#include "espalier/sharding/problem_kinds.h"
#include "espalier/sharding/strategy_tables.h"
#include "espalier/sharding/tensor_parallel.h"

namespace espalier {

/// The operators of a model, the ways to compute each on a mesh, and the question which
/// to take.
struct OperatorShards {
  ShardingProblem problem;
  /// Of the problem: repeated operators have one kind, a number of `strategies`.
  ProblemKinds kinds;
  std::vector<StrategyTable> strategies;
  std::vector<std::string> names;  ///< by node: of the operator or the input
  /// Names of a node's strategies.
  [[nodiscard]] const std::vector<std::string>& ways(std::size_t node) const {
    return strategies[static_cast<std::size_t>(kinds.nodes[node])].names;
  }
};

/// A training step of a model on a mesh, operator by operator.
///
/// Along each axis a tensor lies whole, its first extent spread, or its features spread:
/// the last extent of three, else the second. A node of the problem is an operator or an
/// input of the model, an edge a tensor that one reads of another, at the cost of
/// bringing it and its gradient from state to state.
///   Conv, Gemm and MatMul with a weight   the six ways of LinearWay, three times the
///                                         work of the operator
///   element by element, pools,            wherever a part of it lies; parameters of
///   normalisation, products of two        spread samples are reduced over the devices
///   activations, Concat, Transpose, …
///   all others                            whole on every device
/// Features are spread where every part of the result needs the same part of the inputs
/// alone (a grouped convolution: by its groups); nothing is spread by height and width.
/// A strategy holds, all the time, its parameters and its result until backwards.
///
/// @param model   folded (training/fold_constants.h)
/// @param device  bytes_a_parameter of 32-bit parameters
/// @throws InvalidInput for a model without operators that read an activation;
///         OverflowError
/// @par Test  ShardOperators.*
[[nodiscard]] OperatorShards shard_operators(const OperatorGraph& model, const Mesh& mesh,
                                             const DeviceFigures& device, Bytes limit);

}  // namespace espalier
