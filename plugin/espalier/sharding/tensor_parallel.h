#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "espalier/model/sharding_problem.h"
#include "espalier/sharding/mesh.h"

namespace espalier {

/// How a tensor of tokens x features lies along one axis of a mesh: whole on every
/// device, its sequences spread, or its features spread.
enum class AxisState : std::uint8_t { kWhole, kBatch, kFeatures };

/// How it lies on the mesh: base-3 digits, the first axis the lowest.
using MeshState = std::int32_t;

/// How a linear layer is computed along one axis; X, Y and P are its input, output and
/// weight, and communication is that of forwards and backwards together.
enum class LinearWay : std::uint8_t {
  kData,          ///< batch -> batch, all-reduce of P
  kColumn,        ///< whole -> features, all-reduce of X
  kRow,           ///< features -> whole, all-reduce of Y
  kColumnGather,  ///< batch -> features, all-gather and reduce-scatter of X
  kRowScatter,    ///< features -> batch, reduce-scatter and all-gather of Y
  kWhole          ///< whole -> whole, nothing: every device computes all
};

/// What all layers share.
struct ShardingSetting {
  Mesh mesh;
  std::int64_t sequences = 1, tokens_a_sequence = 1;
  double flops_a_second = 1e14;  ///< of one device
  std::int64_t bytes_a_value = 2;
  std::int64_t bytes_a_parameter = 16;  ///< with its gradient and Adam's state
};

/// One way to compute an operator on the mesh.
struct OperatorWay {
  MeshState in = 0, out = 0;
  Cost cost = 0;     ///< picoseconds, forwards and backwards
  Bytes memory = 0;  ///< on the fullest device: parameters, and the input until backwards
  std::string name;
};

/// An operator between one input and one output; `width` is the features of its input.
struct ShardedOperator {
  std::string name;
  std::int64_t width = 0;
  std::vector<OperatorWay> ways;
};

/// A tensor that can lie spread over devices, by its samples and by its features.
struct SpreadTensor {
  std::int64_t samples = 1, features = 1;
  double bytes = 0;
};

/// A product of an input with a weight.
struct WeightProduct {
  SpreadTensor in, out;
  double parameters = 0;
  double flops = 0;  ///< forwards and backwards
};

/// What a device does in a second and what it holds.
struct DeviceFigures {
  double flops_a_second = 1e14;
  double bytes_a_gradient = 2;
  double bytes_a_parameter = 16;  ///< with its gradient and the optimiser's state
};

/// States on the mesh: 3^axes.
[[nodiscard]] std::int32_t state_count(const Mesh& mesh);

/// How a tensor in that state lies along an axis.
[[nodiscard]] AxisState on_axis(MeshState state, std::size_t axis);
[[nodiscard]] MeshState with_axis(MeshState state, std::size_t axis, AxisState on);

/// "batch x whole", axis by axis.
[[nodiscard]] std::string describe_state(const Mesh& mesh, MeshState state);

/// Of a tensor in that state, on the fullest device: 0 … 1. Shares that do not come out
/// even count by the largest.
[[nodiscard]] double tensor_share(const Mesh& mesh, const SpreadTensor& tensor,
                                  MeshState state);

/// Picoseconds to bring a tensor from one state to another and its gradient back, axis by
/// axis: between whole and spread an all-gather, between batch and features two
/// all-to-alls.
[[nodiscard]] Cost reshard_cost(const Mesh& mesh, const SpreadTensor& tensor,
                                MeshState from, MeshState to);

/// Every combination of the six ways along the axes. `memory` is that of the parameters.
[[nodiscard]] std::vector<OperatorWay> product_ways(const Mesh& mesh,
                                                    const WeightProduct& product,
                                                    const DeviceFigures& device);

/// Whole picoseconds. @throws OverflowError for what is no cost
[[nodiscard]] Cost cost_of(Seconds seconds);
/// Rounded up. @throws OverflowError for 2^55 and more
[[nodiscard]] Bytes bytes_of(double bytes);

/// reshard_cost() of tokens x width.
[[nodiscard]] Cost reshard_cost(const ShardingSetting& setting, std::int64_t width,
                                MeshState from, MeshState to);

/// A linear layer, by every combination of ways; 6 x flops of a parameter and token
/// forwards and backwards.
[[nodiscard]] ShardedOperator linear_operator(const ShardingSetting& setting,
                                              std::string name, std::int64_t in_width,
                                              std::int64_t out_width);

/// An operator that computes the same way wherever a part of it lies. `units` are what
/// features can be spread by (heads); 0: they cannot be.
/// @param flops  forwards and backwards, of all tokens
[[nodiscard]] ShardedOperator local_operator(const ShardingSetting& setting,
                                             std::string name, std::int64_t in_width,
                                             std::int64_t units, double flops);

}  // namespace espalier
