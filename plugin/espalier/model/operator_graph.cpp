#include "espalier/model/operator_graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "espalier/model/error.h"

namespace espalier {
namespace {

// The attribute as a T; nothing where it is not given.
template <class T>
const T* attribute_of(const Operator& op, std::string_view attribute) {
  const auto found = op.attributes.find(attribute);
  if (found == op.attributes.end()) return nullptr;
  const T* value = std::get_if<T>(&found->second);
  if (value == nullptr)
    throw InvalidInput(fmt::format("{}: its attribute '{}' has a value of another kind",
                                   label(op), attribute));
  return value;
}

[[noreturn]] void refuse(const Operator& op, const Tensor& tensor, const char* why) {
  throw InvalidInput(fmt::format("{}: {} {}", label(op), label(tensor), why));
}

}  // namespace

std::int64_t Operator::integer(std::string_view attribute, std::int64_t otherwise) const {
  const auto* value = attribute_of<std::int64_t>(*this, attribute);
  return value != nullptr ? *value : otherwise;
}

double Operator::real(std::string_view attribute, double otherwise) const {
  const auto* value = attribute_of<double>(*this, attribute);
  return value != nullptr ? *value : otherwise;
}

std::string Operator::text(std::string_view attribute, std::string otherwise) const {
  const auto* value = attribute_of<std::string>(*this, attribute);
  return value != nullptr ? *value : otherwise;
}

std::vector<std::int64_t> Operator::integers(std::string_view attribute,
                                             std::vector<std::int64_t> otherwise) const {
  const auto* value = attribute_of<std::vector<std::int64_t>>(*this, attribute);
  return value != nullptr ? *value : otherwise;
}

std::optional<TensorId> OperatorGraph::find_tensor(std::string_view name) const {
  const auto found = tensor_by_name_.find(std::string(name));
  return found == tensor_by_name_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<OperatorId> OperatorGraph::find_operator(std::string_view name) const {
  const auto found = operator_by_name_.find(std::string(name));
  return found == operator_by_name_.end() ? std::nullopt : std::optional(found->second);
}

std::string label(const Operator& op) {
  return fmt::format("operator '{}' ({})", op.name, op.type);
}

std::string label(const Tensor& tensor) {
  return fmt::format("tensor '{}' ({})", tensor.name, describe(tensor.shape));
}

TensorId OperatorGraphBuilder::add_tensor(Tensor tensor, std::optional<Bytes> bytes) {
  if (tensor.name.empty()) throw InvalidInput("a tensor has no name");
  for (const std::int64_t extent : tensor.shape) {
    if (extent < 0) throw InvalidInput(label(tensor) + " has a negative extent");
  }
  tensor.bytes = bytes ? *bytes : tensor_bytes(tensor.type, tensor.shape);
  const TensorId id = tensor_id(graph_.tensors_.size());
  if (!graph_.tensor_by_name_.emplace(tensor.name, id).second)
    throw InvalidInput(fmt::format("two tensors have the name '{}'", tensor.name));
  graph_.tensors_.push_back(std::move(tensor));
  graph_.producer_.emplace_back();
  graph_.readers_.emplace_back();
  graph_.storage_.push_back(id);
  graph_.version_.push_back(id);
  overwritten_.push_back(false);
  return id;
}

void OperatorGraphBuilder::keep(TensorId id) {
  Tensor& tensor = graph_.tensors_[index(id)];
  tensor.kept = true;
  if (!tensor.output) tensor.output = outputs_++;
}

void OperatorGraphBuilder::check(const Operator& op, TensorId id) const {
  if (index(id) >= graph_.tensors_.size())
    throw InvalidInput(fmt::format("{}: there is no tensor {}", label(op), index(id)));
}

// The output lies in the bytes of an input: in its version, or in the next one.
void OperatorGraphBuilder::share(const Operator& op, TensorId output) {
  const Tensor& tensor = graph_.tensor(output);
  const TensorId with = tensor.shared_with;
  if (std::ranges::find(op.inputs, with) == op.inputs.end())
    refuse(op, tensor, "shares the bytes of a tensor that the operator does not read");
  if (tensor.bytes != graph_.tensor(with).bytes)
    refuse(op, tensor, "shares the bytes of a tensor of another size");
  const TensorId version = graph_.version(with);
  if (overwritten_[index(version)])
    refuse(op, tensor, "shares the bytes of a tensor that has been overwritten");
  graph_.storage_[index(output)] = graph_.storage(with);
  if (tensor.sharing == Sharing::kView) {
    graph_.version_[index(output)] = version;
  } else {
    overwritten_[index(version)] = true;
  }
}

void OperatorGraphBuilder::write(OperatorId id, TensorId output) {
  const Operator& op = graph_.op(id);
  const Tensor& tensor = graph_.tensor(output);
  if (graph_.producer_[index(output)]) refuse(op, tensor, "is written twice");
  if (tensor.role != TensorRole::kComputed) refuse(op, tensor, "is there from the start");
  if (tensor.sharing != Sharing::kOwn) share(op, output);
  graph_.producer_[index(output)] = id;
}

OperatorId OperatorGraphBuilder::add_operator(Operator op) {
  const std::size_t number = graph_.operators_.size();
  if (op.name.empty()) op.name = fmt::format("{}_{}", op.type, number);
  while (graph_.operator_by_name_.contains(op.name))
    op.name += fmt::format("_{}", number);
  for (const auto* list : {&op.inputs, &op.outputs}) {
    for (const auto& each : *list) {
      if (each) check(op, *each);
    }
  }
  for (const TensorId each : op.captured) check(op, each);
  for (const OperatorId each : op.after) {
    if (index(each) >= number)
      throw InvalidInput(
          fmt::format("{} waits for operator {}, which does not stand before it",
                      label(op), index(each)));
  }
  const OperatorId id = operator_id(number);
  graph_.operator_by_name_.emplace(op.name, id);
  graph_.operators_.push_back(std::move(op));
  const Operator& added = graph_.operators_.back();
  for (const auto& output : added.outputs) {
    if (output) write(id, *output);
  }
  const auto read = [&](TensorId tensor) {
    auto& readers = graph_.readers_[index(tensor)];
    if (readers.empty() || readers.back() != id) readers.push_back(id);
  };
  for (const auto& input : added.inputs) {
    if (input) read(*input);
  }
  for (const TensorId each : added.captured) read(each);
  return id;
}

}  // namespace espalier
