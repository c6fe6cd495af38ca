#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "espalier/model/operator_graph.h"
#include "espalier/training/gradient_rules.h"
#include "espalier/training/model_analysis.h"
#include "espalier/training/training_graph.h"

namespace espalier {

/// Puts a training step together, operator by operator: what training_graph() says, with
/// nothing overwritten but by updates.
class StepBuilder {
 public:
  StepBuilder(const OperatorGraph& model, const TrainingOptions& options);
  [[nodiscard]] TrainingGraph build();

 private:
  // Forward and loss.
  TensorId here(TensorId of_model);
  [[nodiscard]] bool has_own_statistics(OperatorId id) const;
  void add_forward(OperatorId id);
  void add_outputs(const Operator& from, Operator& op, const GradientRule& rule);
  void add_loss();
  // Backward.
  void add_backward(OperatorId id);
  void add_gradients(OperatorId id, const GradientRule& rule, PositionMask wanted,
                     const std::vector<std::optional<TensorId>>& gradients);
  [[nodiscard]] std::vector<std::optional<TensorId>> reads(const Operator& op,
                                                           const GradientRule& rule,
                                                           PositionMask wanted) const;
  [[nodiscard]] Shape pieces_of(const Operator& op,
                                const std::vector<std::optional<TensorId>>& list) const;
  void add_partial(TensorId of_model, TensorId gradient);
  std::optional<TensorId> total(TensorId of_model);
  TensorId accumulate(TensorId of_model, std::vector<TensorId> partials);
  // Updates.
  void add_gradients_done(OperatorId id);
  void add_last_updates();
  void add_update(TensorId of_model, std::optional<TensorId> norm);
  /// The gradient added to what is kept of it. @return the sum
  TensorId add_kept_sum(const Tensor& like, TensorId gradient,
                        const std::vector<OperatorId>& after);
  TensorId add_state(const Tensor& parameter, const char* what);

  OperatorId emit(Operator op, StepPhase phase,
                  std::optional<OperatorId> undoes = std::nullopt);
  TensorId add(Tensor tensor) { return out_.add_tensor(std::move(tensor)); }
  [[nodiscard]] std::string unused(std::string name) const;
  [[nodiscard]] const Tensor& tensor(TensorId id) const {
    return out_.graph().tensor(id);
  }

  const OperatorGraph& model_;
  TrainingOptions options_;
  ModelAnalysis analysis_;
  OperatorGraphBuilder out_;
  TrainingGraph step_;
  // By what the model calls them.
  std::vector<std::optional<TensorId>> here_;
  std::vector<std::optional<OperatorId>> here_op_;
  std::vector<std::vector<TensorId>> partials_;
  std::vector<std::optional<OperatorId>> first_reader_;  // of what is trained
  std::vector<TensorId> ready_;          // trained, with all of their gradient
  std::vector<OperatorId> before_next_;  // updates that go before what comes next
};

}  // namespace espalier
