#include "espalier/training/fold_constants.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "espalier/model/error.h"
#include "espalier/training/small_constants.h"

namespace espalier {
namespace {

using OptionalValue = std::optional<TensorValue>;

const std::set<std::string_view> kViews = {"Reshape", "Flatten", "Squeeze", "Unsqueeze",
                                           "Identity"};
const std::set<std::string_view> kMoves = {"Transpose", "Expand"};

// What is known of each tensor so far.
class Folder {
 public:
  explicit Folder(const OperatorGraph& graph) : graph_(graph), gone_(graph.size()) {
    for (const Tensor& tensor : graph.tensors()) {
      known_.push_back(tensor.role == TensorRole::kConstant ||
                       tensor.role == TensorRole::kParameter);
      value_.push_back(tensor.value);
      trained_.push_back(tensor.trained);
    }
  }

  OperatorGraph fold() {
    for (std::size_t i = 0; i < graph_.size(); ++i)
      gone_[i] = fold_operator(graph_.op(operator_id(i)));
    return rebuild();
  }

 private:
  bool fold_operator(const Operator& op) {
    if (!op.domain.empty() || op.outputs.empty() || !op.outputs[0]) return false;
    if (!op.input(0)) return false;
    if (op.type == "Shape" || op.type == "Size") return fold_shape(op);
    if (!op.captured.empty()) return false;
    for (const auto& input : op.inputs) {
      if (input && !known_[index(*input)]) return false;
    }
    const TensorId output = *op.outputs[0];
    const TensorId input = *op.inputs[0];
    if (op.type == "ConstantOfShape") {
      know(output, filled(op), trained_[index(input)]);
    } else if (kViews.contains(op.type) || kMoves.contains(op.type)) {
      const OptionalValue& value = value_[index(input)];
      const bool moves = kMoves.contains(op.type);
      if (moves && value && value->repeated_element() == nullptr) return false;
      if (may_be_trained(input) && is_seen_twice(op)) return false;
      know(output, value,
           may_be_trained(input) ? trained_[index(input)] : Trained::kNever);
    } else {
      const auto elements = evaluate(op);
      if (!elements) return false;
      know(output, value_of_integers(*elements, graph_.tensor(output).type),
           Trained::kNever);
    }
    return true;
  }

  void know(TensorId tensor, OptionalValue value, Trained trained) {
    known_[index(tensor)] = true;
    value_[index(tensor)] = std::move(value);
    trained_[index(tensor)] = trained;
  }

  // Scalars are not, unless somebody says so.
  bool may_be_trained(TensorId id) const {
    const Tensor& tensor = graph_.tensor(id);
    const Trained trained = trained_[index(id)];
    return is_floating(tensor.type) && trained != Trained::kNever &&
           (trained == Trained::kAlways || !tensor.shape.empty());
  }
  // The elements would be trained apart from themselves: others read them, too, or they
  // are repeated.
  bool is_seen_twice(const Operator& op) const {
    return op.type == "Expand" || graph_.readers(*op.inputs[0]).size() > 1;
  }

  bool fold_shape(const Operator& op) {
    Shape shape = graph_.tensor(*op.inputs[0]).shape;
    const auto rank = static_cast<std::int64_t>(shape.size());
    if (op.type == "Size") {
      shape = {element_count(shape)};
    } else {
      const auto within = [rank](std::int64_t axis) {
        return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
      };
      const std::int64_t start = within(op.integer("start", 0));
      const std::int64_t end = within(op.integer("end", rank));
      shape.erase(shape.begin() + std::max(start, end), shape.end());
      shape.erase(shape.begin(), shape.begin() + std::min(start, end));
    }
    know(*op.outputs[0], TensorValue::of(shape), Trained::kNever);
    return true;
  }

  // The element is 32-bit 0 when it is not given.
  static OptionalValue filled(const Operator& op) {
    const auto found = op.attributes.find("value");
    if (found == op.attributes.end())
      return TensorValue::repeated(std::string(sizeof(float), '\0'));
    const auto* tensor = std::get_if<ConstantTensor>(&found->second);
    if (tensor == nullptr) return std::nullopt;
    std::string element(static_cast<std::size_t>(bits(tensor->type) / 8), '\0');
    tensor->value.read(std::as_writable_bytes(std::span(element)));
    return TensorValue::repeated(std::move(element));
  }

  // The result of an operator on small constants of integers.
  std::optional<std::vector<std::int64_t>> evaluate(const Operator& op) const {
    std::vector<SmallConstant> inputs;
    for (const auto& input : op.inputs) {
      if (!input) return std::nullopt;
      const Tensor& tensor = graph_.tensor(*input);
      const OptionalValue& value = value_[index(*input)];
      if (!value || element_count(tensor.shape) > kMostSmallElements) return std::nullopt;
      auto elements = integers_of(*value, tensor.type, tensor.shape);
      if (!elements) return std::nullopt;
      inputs.push_back({tensor.shape, std::move(*elements)});
    }
    return evaluate_small(op, inputs);
  }

  [[nodiscard]] bool is_read(TensorId tensor) const {
    return std::ranges::any_of(graph_.readers(tensor),
                               [this](OperatorId each) { return !gone_[index(each)]; });
  }

  OperatorGraph rebuild() {
    OperatorGraphBuilder builder(graph_.operator_set());
    std::vector<TensorId> now(graph_.tensors().size());
    for (std::size_t t = 0; t < now.size(); ++t) {
      Tensor tensor = graph_.tensor(tensor_id(t));
      const bool made = tensor.role == TensorRole::kComputed;
      if (known_[t] && !is_read(tensor_id(t)) && !(made && tensor.kept)) continue;
      if (known_[t] && made) {
        tensor.role = TensorRole::kConstant;
        tensor.kept = true;
        tensor.value = value_[t];
        tensor.trained = trained_[t];
      }
      const Bytes bytes = tensor.bytes;
      now[t] = builder.add_tensor(std::move(tensor), bytes);
    }
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      if (gone_[i]) continue;
      Operator op = graph_.op(operator_id(i));
      for (auto* list : {&op.inputs, &op.outputs}) {
        for (auto& tensor : *list) {
          if (tensor) tensor = now[index(*tensor)];
        }
      }
      for (TensorId& tensor : op.captured) tensor = now[index(tensor)];
      (void)builder.add_operator(std::move(op));
    }
    return std::move(builder).build();
  }

  const OperatorGraph& graph_;
  std::vector<bool> gone_;   // by operator
  std::vector<bool> known_;  // by tensor
  std::vector<OptionalValue> value_;
  std::vector<Trained> trained_;
};

}  // namespace

OperatorGraph fold_constants(const OperatorGraph& graph) { return Folder(graph).fold(); }

}  // namespace espalier
