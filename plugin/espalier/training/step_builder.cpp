// Forward and loss.

#include "espalier/training/step_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "espalier/model/error.h"
#include "espalier/training/kept_tensors.h"

namespace espalier {

StepBuilder::StepBuilder(const OperatorGraph& model, const TrainingOptions& options)
    : model_(model),
      options_(options),
      analysis_(analyse_model(model)),
      out_(model.operator_set()),
      here_(model.tensors().size()),
      here_op_(model.size()),
      partials_(model.tensors().size()),
      first_reader_(model.tensors().size()) {}

TrainingGraph StepBuilder::build() {
  for (std::size_t i = 0; i < model_.size(); ++i) {
    if (analysis_.runs[i]) add_forward(operator_id(i));
  }
  add_loss();
  for (std::size_t i = model_.size(); i-- > 0;) {
    if (analysis_.runs[i]) add_backward(operator_id(i));
  }
  add_last_updates();
  step_.graph = std::move(out_).build();
  return std::move(step_);
}

std::string StepBuilder::unused(std::string name) const {
  while (out_.graph().find_tensor(name) || model_.find_tensor(name)) name += '_';
  return name;
}

OperatorId StepBuilder::emit(Operator op, StepPhase phase,
                             std::optional<OperatorId> undoes) {
  if (phase != StepPhase::kUpdate) std::swap(op.after, before_next_);
  const OperatorId id = out_.add_operator(std::move(op));
  before_next_.clear();
  step_.phase.push_back(phase);
  step_.undoes.push_back(undoes);
  return id;
}

// The tensor of the model in the step.
TensorId StepBuilder::here(TensorId of_model) {
  std::optional<TensorId>& id = here_[index(of_model)];
  if (id) return *id;
  Tensor tensor = model_.tensor(of_model);
  const Bytes bytes = tensor.bytes;
  if (analysis_.trained[index(of_model)]) {
    tensor.role = TensorRole::kParameter;
    step_.parameters = checked_add(step_.parameters, element_count(tensor.shape));
    step_.parameter_bytes = checked_add(step_.parameter_bytes, bytes);
  }
  tensor.kept = tensor.role == TensorRole::kParameter ||
                tensor.role == TensorRole::kConstant || tensor.role == TensorRole::kState;
  tensor.sharing = Sharing::kOwn;
  id = out_.add_tensor(std::move(tensor), bytes);
  return *id;
}

// Running statistics are updated in place, which others that read them must not see.
bool StepBuilder::has_own_statistics(OperatorId id) const {
  const Operator& op = model_.op(id);
  return std::ranges::all_of(std::array{3, 4}, [&](std::size_t position) {
    const auto statistic = op.input(position);
    return !statistic ||
           (!model_.producer(*statistic) && model_.readers(*statistic).size() == 1 &&
            std::ranges::count(op.inputs, statistic) == 1);
  });
}

void StepBuilder::add_forward(OperatorId id) {
  const Operator& from = model_.op(id);
  Operator op = from;
  op.after.clear();
  for (auto& input : op.inputs) {
    if (!input) continue;
    if (analysis_.trained[index(*input)] && !first_reader_[index(*input)])
      first_reader_[index(*input)] = id;
    input = here(*input);
  }
  for (TensorId& input : op.captured) input = here(input);
  const auto rule = gradient_rule(op.type);
  if (rule && op.domain.empty()) {
    add_outputs(from, op, *rule);
  } else {
    for (auto& output : op.outputs) {
      if (output) output = here(*output);
    }
  }
  if (op.type.starts_with("Conv")) op.workspace += options_.conv_workspace;
  if (op.type == "BatchNormalization" && !has_own_statistics(id))
    op.attributes["updates_statistics"] = std::int64_t{0};
  if (op.type == "Dropout")
    op.attributes["seed"] = op.integer("position", static_cast<std::int64_t>(index(id)));
  here_op_[index(id)] = emit(std::move(op), StepPhase::kForward);
}

// What the model calls its results, and what is kept for the way back.
void StepBuilder::add_outputs(const Operator& from, Operator& op,
                              const GradientRule& rule) {
  if (rule.many_outputs) {
    for (auto& output : op.outputs) {
      if (output) output = here(*output);
    }
    return;
  }
  for (std::size_t i = 1; i < from.outputs.size(); ++i) {
    if (!from.outputs[i]) continue;
    for (const OperatorId reader : model_.readers(*from.outputs[i])) {
      if (analysis_.runs[index(reader)])
        throw InvalidInput(fmt::format("{} reads output {} of {}, which has no gradient",
                                       label(model_.op(reader)), i, label(from)));
    }
  }
  const TensorId first = from.output(0).value();
  op.outputs.clear();
  const bool view = options_.alias_views && (rule.view || op.type == "Identity") &&
                    model_.tensor(first).type == tensor(*op.inputs[0]).type;
  if (view) {
    Tensor result = model_.tensor(first);
    result.kept = false;
    result.sharing = Sharing::kView;
    result.shared_with = *op.inputs[0];
    here_[index(first)] = add(std::move(result));
  }
  op.outputs.emplace_back(here(first));
  if (!analysis_.has_gradient[index(first)] && !options_.always_keeps) return;
  for (Tensor& kept : kept_tensors(model_, from, rule.keeps, options_)) {
    kept.name = unused(std::move(kept.name));
    op.outputs.emplace_back(add(std::move(kept)));
  }
}

void StepBuilder::add_loss() {
  const TensorId scores = here(analysis_.scores);
  Shape rows = tensor(scores).shape;
  const ElementType type = tensor(scores).type;
  const bool classes = analysis_.axis.has_value();
  if (classes) rows.resize(*analysis_.axis);
  step_.labels.push_back(add({.name = unused(classes ? "labels" : "targets"),
                              .type = classes ? ElementType::kInt64 : type,
                              .shape = rows,
                              .role = TensorRole::kInput}));
  step_.loss = add({.name = unused("loss"), .type = type, .kept = true});
  Operator op{.name = "loss",
              .type = classes ? "SoftmaxCrossEntropyLoss" : "MeanSquareLoss",
              .inputs = {scores, step_.labels.front()},
              .outputs = {step_.loss}};
  Operator grad{.name = "loss/grad", .type = op.type + "Grad"};
  grad.inputs = {std::nullopt, scores, step_.labels.front()};
  if (classes) {
    op.attributes["axis"] = static_cast<std::int64_t>(*analysis_.axis);
    grad.attributes = op.attributes;
    op.outputs.emplace_back(add(
        {.name = unused("probabilities"), .type = type, .shape = tensor(scores).shape}));
    grad.inputs = {std::nullopt, std::nullopt, step_.labels.front(), std::nullopt,
                   op.outputs.back()};
  }
  grad.attributes["gradients"] = std::int64_t{1};
  grad.attributes["inputs"] = std::int64_t{2};
  grad.attributes["outputs"] = static_cast<std::int64_t>(op.outputs.size());
  const OperatorId loss = emit(std::move(op), StepPhase::kLoss);
  const TensorId gradient = add({.name = unused(tensor(scores).name + "/grad/loss"),
                                 .type = type,
                                 .shape = tensor(scores).shape});
  grad.outputs = {gradient};
  (void)emit(std::move(grad), StepPhase::kBackward, loss);
  add_partial(analysis_.scores, gradient);
}

}  // namespace espalier
