#include "espalier/training/model_analysis.h"

#include <fmt/format.h>

#include <algorithm>

#include "espalier/model/error.h"
#include "espalier/training/gradient_rules.h"

namespace espalier {
namespace {

std::int64_t extent_from(const Shape& shape, std::size_t axis) {
  return element_count(
      Shape(shape.begin() + static_cast<std::ptrdiff_t>(axis), shape.end()));
}

// The axis of a Softmax, from 0; in old models all axes from there on are one.
std::optional<std::size_t> softmax_axis(const OperatorGraph& model, const Operator& op) {
  if (!op.input(0)) return std::nullopt;
  const Shape& shape = model.tensor(*op.input(0)).shape;
  const bool old = model.operator_set() < 13;
  std::int64_t axis = op.integer("axis", old ? 1 : -1);
  if (axis < 0) axis += static_cast<std::int64_t>(shape.size());
  if (axis < 0 || axis >= static_cast<std::int64_t>(shape.size())) return std::nullopt;
  const auto from = static_cast<std::size_t>(axis);
  if (!old && extent_from(shape, from + 1) != 1) return std::nullopt;
  return from;
}

// The classes are the second axis where no other follows, else the last; of one class
// there is nothing to tell.
std::optional<std::size_t> class_axis(const Shape& shape) {
  if (shape.size() < 2) return std::nullopt;
  const std::size_t axis = extent_from(shape, 2) == 1 ? 1 : shape.size() - 1;
  return shape[axis] == 1 ? std::nullopt : std::optional(axis);
}

TensorId first_output(const OperatorGraph& model) {
  std::optional<TensorId> first;
  const auto place = [&model](TensorId id) {
    return model.tensor(id).output.value_or(model.tensors().size());
  };
  for (std::size_t t = 0; t < model.tensors().size(); ++t) {
    const TensorId id = tensor_id(t);
    const Tensor& tensor = model.tensor(id);
    if (tensor.kept && is_floating(tensor.type) && model.producer(id) &&
        (!first || place(id) < place(*first)))
      first = id;
  }
  if (!first)
    throw InvalidInput("the model has no output of floating point to take a loss of");
  return *first;
}

void choose_loss(const OperatorGraph& model, ModelAnalysis& analysis) {
  const TensorId output = first_output(model);
  const Operator& last = model.op(*model.producer(output));
  analysis.scores = output;
  analysis.axis = class_axis(model.tensor(output).shape);
  if (last.type != "Softmax" && last.type != "LogSoftmax") return;
  const auto axis = softmax_axis(model, last);
  if (!axis) return;
  const Tensor& scores = model.tensor(*last.inputs[0]);
  if (extent_from(scores.shape, *axis) == 1)
    throw InvalidInput(fmt::format("{}: of {} it makes one class, whose loss is 0 always",
                                   label(last), label(scores)));
  analysis.scores = *last.inputs[0];
  analysis.axis = axis;
}

void find_running(const OperatorGraph& model, ModelAnalysis& analysis) {
  analysis.runs.assign(model.size(), false);
  std::vector<TensorId> needed = {analysis.scores};
  while (!needed.empty()) {
    const auto producer = model.producer(needed.back());
    needed.pop_back();
    if (!producer || analysis.runs[index(*producer)]) continue;
    analysis.runs[index(*producer)] = true;
    const Operator& op = model.op(*producer);
    for (const auto& input : op.inputs) {
      if (input) needed.push_back(*input);
    }
    needed.insert(needed.end(), op.captured.begin(), op.captured.end());
  }
}

// Calls visit(operator, tensor) for each input of the operator that may have a gradient.
template <class Visit>
void for_each_differentiable(const Operator& op, const Visit& visit) {
  const auto rule = gradient_rule(op.type);
  if (!rule) return;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i] && has(rule->gives, i)) visit(*op.inputs[i]);
  }
}

void find_trained(const OperatorGraph& model, ModelAnalysis& analysis) {
  const bool declared = std::ranges::any_of(model.tensors(), [](const Tensor& tensor) {
    return tensor.role == TensorRole::kParameter;
  });
  const TensorRole role = declared ? TensorRole::kParameter : TensorRole::kConstant;
  analysis.trained.assign(model.tensors().size(), false);
  for (std::size_t i = 0; i < model.size(); ++i) {
    if (!analysis.runs[i]) continue;
    for_each_differentiable(model.op(operator_id(i)), [&](TensorId id) {
      const Tensor& tensor = model.tensor(id);
      const bool by_rule =
          tensor.trained == Trained::kByRule && (declared || !tensor.shape.empty());
      if (tensor.role == role && is_floating(tensor.type) &&
          (by_rule || tensor.trained == Trained::kAlways))
        analysis.trained[index(id)] = true;
    });
  }
}

// What somebody wants trained can be.
void check_trained(const OperatorGraph& model, const ModelAnalysis& analysis) {
  for (std::size_t t = 0; t < model.tensors().size(); ++t) {
    const Tensor& tensor = model.tensor(tensor_id(t));
    if (tensor.trained != Trained::kAlways || analysis.trained[t]) continue;
    for (const OperatorId reader : model.readers(tensor_id(t)))
      if (analysis.runs[index(reader)])
        throw InvalidInput(fmt::format("{} cannot be trained: {} has no gradient for it",
                                       label(tensor), label(model.op(reader))));
    throw InvalidInput(fmt::format(
        "{} cannot be trained: nothing that leads to the loss reads it", label(tensor)));
  }
}

// Results are there before they are read, and whatever is trained has a first one.
void check_place(const OperatorGraph& model, OperatorId id) {
  const Operator& op = model.op(id);
  for (const auto& input : op.inputs) {
    if (!input) continue;
    const auto producer = model.producer(*input);
    if (!producer || *producer < id) continue;
    throw InvalidInput(fmt::format(
        "{} reads {}, which {} behind it writes: the graph has a cycle, or its "
        "operators stand in no order",
        label(op), label(model.tensor(*input)), label(model.op(*producer))));
  }
  if (gradient_rule(op.type) && !op.output(0))
    throw InvalidInput(fmt::format("{} has no first result", label(op)));
  if (gradient_rule(op.type) && !op.input(0))
    throw InvalidInput(fmt::format("{} has no first input", label(op)));
}

void require_rule(const OperatorGraph& model, const Operator& op,
                  const ModelAnalysis& analysis) {
  for (const auto& input : op.inputs) {
    if (!input || !analysis.has_gradient[index(*input)]) continue;
    throw InvalidInput(fmt::format("{}: its gradient is not known, and {} needs it",
                                   label(op), label(model.tensor(*input))));
  }
}

void find_gradients(const OperatorGraph& model, ModelAnalysis& analysis) {
  analysis.has_gradient = analysis.trained;
  for (std::size_t i = 0; i < model.size(); ++i) {
    if (!analysis.runs[i]) continue;
    const Operator& op = model.op(operator_id(i));
    check_place(model, operator_id(i));
    if (op.inputs.size() > kMostInputs || !gradient_rule(op.type) || !op.domain.empty() ||
        !op.captured.empty())
      require_rule(model, op, analysis);
    bool has = false;
    for_each_differentiable(
        op, [&](TensorId id) { has = has || analysis.has_gradient[index(id)]; });
    for (const auto& output : op.outputs) {
      if (!output || !has) continue;
      analysis.has_gradient[index(*output)] = is_floating(model.tensor(*output).type);
    }
  }
}

}  // namespace

ModelAnalysis analyse_model(const OperatorGraph& model) {
  ModelAnalysis analysis;
  choose_loss(model, analysis);
  find_running(model, analysis);
  find_trained(model, analysis);
  check_trained(model, analysis);
  find_gradients(model, analysis);
  if (!analysis.has_gradient[index(analysis.scores)])
    throw InvalidInput(
        fmt::format("nothing can be trained: {} depends on no parameter (initializers of "
                    "floating point are, nodes of type Constant are not)",
                    label(model.tensor(analysis.scores))));
  return analysis;
}

}  // namespace espalier
