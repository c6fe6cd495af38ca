#pragma once

#include "espalier/training/training_graph.h"
#include "training/step/step_run.h"

namespace espalier::training {

/// Convolutions, one of them with a bias, batch normalisation, Relu, both poolings, a sum
/// of two branches, a concatenation, a flattening and an inner product.
[[nodiscard]] OperatorGraph small_convnet(std::int64_t batch);
/// Transposed convolutions, one with a bias, one in groups, normalisations of instances
/// and groups, Max, Min, Softplus, Selu, the largest of a channel, a dropout whose ratio
/// is an input, and a bias by half.
[[nodiscard]] OperatorGraph small_upward_net(std::int64_t batch);
/// A pooling that no parameter precedes, an even LRN, pieces that nobody wants, operands
/// that are broadcast: of a normalisation, of products, of a sum.
[[nodiscard]] OperatorGraph small_broadcasting_net(std::int64_t batch);
[[nodiscard]] OperatorGraph small_transformer();

struct Network {
  const char* name;
  OperatorGraph graph;
};
[[nodiscard]] std::vector<Network> small_networks();

/// Runs a step's operators one after the other in double precision, by the oracle.
class OracleStep {
 public:
  OracleStep(const TrainingGraph& training, const RecipeOptions& options,
             std::uint64_t seed);
  void run(std::int64_t step);
  [[nodiscard]] double loss() const { return values(training_.loss)[0]; }
  [[nodiscard]] double* values(TensorId id) const;
  /// Keeps what a tensor holds once it is written.
  void watch(TensorId id) { watched_id_ = id; }
  [[nodiscard]] const std::vector<double>& watched() const { return watched_; }
  /// Everything as it was before the first step.
  void reset();

 private:
  const TrainingGraph& training_;
  std::uint64_t seed_;
  StepKernels kernels_;
  std::vector<std::vector<double>> memory_;  // by storage
  std::optional<TensorId> watched_id_;
  std::vector<double> watched_;
};

}  // namespace espalier::training
