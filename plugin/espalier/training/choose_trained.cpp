#include "espalier/training/choose_trained.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "espalier/model/error.h"
#include "espalier/training/gradient_rules.h"
#include "espalier/training/model_analysis.h"

namespace espalier {
namespace {

void check(const OperatorGraph& model, const std::string& name) {
  const auto id = model.find_tensor(name);
  if (!id) throw InvalidInput(fmt::format("the model has no tensor '{}'", name));
  const Tensor& tensor = model.tensor(*id);
  if (tensor.role != TensorRole::kConstant || !is_floating(tensor.type))
    throw InvalidInput(fmt::format("{} is no constant of floating point", label(tensor)));
}

bool is_in(std::span<const std::string> names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// Whether a framework may have a parameter there.
bool takes_parameters(const Operator& op, std::size_t position) {
  if (op.type == "Pow") return true;
  const auto rule = gradient_rule(op.type);
  return rule && op.domain.empty() && has(rule->gives, position);
}

}  // namespace

OperatorGraph choose_trained(const OperatorGraph& model,
                             std::span<const std::string> trained,
                             std::span<const std::string> frozen) {
  for (const auto& names : {trained, frozen})
    for (const std::string& name : names) check(model, name);
  for (const std::string& name : trained)
    if (is_in(frozen, name))
      throw InvalidInput(fmt::format("'{}' is both trained and frozen", name));
  OperatorGraphBuilder builder(model.operator_set());
  for (Tensor tensor : model.tensors()) {
    if (is_in(trained, tensor.name)) tensor.trained = Trained::kAlways;
    if (is_in(frozen, tensor.name)) tensor.trained = Trained::kNever;
    const Bytes bytes = tensor.bytes;
    (void)builder.add_tensor(std::move(tensor), bytes);
  }
  for (const Operator& op : model.operators()) (void)builder.add_operator(op);
  return std::move(builder).build();
}

std::vector<TensorId> left_alone(const OperatorGraph& model) {
  const ModelAnalysis analysis = analyse_model(model);
  std::vector<bool> left(model.tensors().size());
  for (std::size_t i = 0; i < model.size(); ++i) {
    const Operator& op = model.op(operator_id(i));
    for (std::size_t j = 0; analysis.runs[i] && j < op.inputs.size(); ++j) {
      if (!op.inputs[j] || !takes_parameters(op, j)) continue;
      const std::size_t at = index(*op.inputs[j]);
      const Tensor& tensor = model.tensors()[at];
      left[at] = tensor.role == TensorRole::kConstant && is_floating(tensor.type) &&
                 tensor.trained != Trained::kNever && !analysis.trained[at];
    }
  }
  std::vector<TensorId> found;
  for (std::size_t t = 0; t < left.size(); ++t)
    if (left[t]) found.push_back(tensor_id(t));
  return found;
}

}  // namespace espalier
