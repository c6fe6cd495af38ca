#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "espalier/model/element_type.h"
#include "espalier/model/id_vector.h"
#include "espalier/model/tensor_value.h"
#include "espalier/model/units.h"

namespace espalier {

/// Index of a tensor in its operator graph: 0 … m-1.
enum class TensorId : std::int32_t {};
/// Index of an operator in its operator graph: 0 … n-1.
enum class OperatorId : std::int32_t {};

[[nodiscard]] constexpr TensorId tensor_id(std::size_t position) {
  return static_cast<TensorId>(position);
}
[[nodiscard]] constexpr OperatorId operator_id(std::size_t position) {
  return static_cast<OperatorId>(position);
}

/// Where a tensor comes from.
enum class TensorRole : std::uint8_t {
  kComputed,   ///< an operator writes it
  kInput,      ///< given anew for every run
  kConstant,   ///< known from the start and never written: its value is there
  kParameter,  ///< known from the start, and training changes it
  kState,      ///< what training keeps beside the parameters; zero at first unless valued
};

/// Whether a tensor lies in memory of its own.
enum class Sharing : std::uint8_t {
  kOwn,
  kView,       ///< the bytes of another tensor, read in another shape: nothing is moved
  kOverwrite,  ///< the bytes of another tensor, which is gone when this one is written
};

/// Whether training changes a constant.
enum class Trained : std::uint8_t {
  kByRule,  ///< as training_graph() says
  kNever,   ///< part of the computation, as a node of type Constant is
  kAlways,  ///< whatever the rule says
};

struct Tensor {
  std::string name;
  ElementType type = ElementType::kFloat32;
  Shape shape = {};
  Bytes bytes = 0;  ///< tensor_bytes() of both; of a sparse tensor values and indices
  TensorRole role = TensorRole::kComputed;
  /// In memory to the end, whoever reads it last: outputs of the graph, weights.
  bool kept = false;
  /// Its place among the outputs of the graph.
  std::optional<std::size_t> output = {};
  Trained trained = Trained::kByRule;  ///< of constants
  /// Of constants and initialised parameters.
  std::optional<TensorValue> value = {};
  Sharing sharing = Sharing::kOwn;
  /// Whose bytes these are unless kOwn: an input of the operator that writes this one.
  TensorId shared_with = {};
};

/// A tensor that is the value of an attribute.
struct ConstantTensor {
  ElementType type = ElementType::kFloat32;
  Shape shape = {};
  TensorValue value;
};
/// An attribute whose value is of no use here: a graph, a type, a sparse tensor.
struct OpaqueValue {};

using AttributeValue =
    std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>,
                 std::vector<double>, std::vector<std::string>, ConstantTensor,
                 OpaqueValue>;

/// One step of a computation: the node of a network, or of its training.
struct Operator {
  std::string name = {};  ///< unique in its graph, never empty
  std::string
      type;  ///< "Conv", "Gemm"; docs/manual/training-graphs.md has those of training
  std::string domain = {};  ///< empty: ONNX's own, and those of training
  /// By position; nothing where an optional one is left out.
  std::vector<std::optional<TensorId>> inputs = {}, outputs = {};
  std::map<std::string, AttributeValue, std::less<>> attributes = {};
  /// Read by graphs inside the operator, and not among `inputs`.
  std::vector<TensorId> captured = {};
  /// Operators that have run before it, whatever it reads; each was added before.
  std::vector<OperatorId> after = {};
  Bytes workspace = 0;  ///< only while it runs

  /// The input at a position; nothing where it is left out or not listed.
  [[nodiscard]] std::optional<TensorId> input(std::size_t position) const {
    return position < inputs.size() ? inputs[position] : std::nullopt;
  }
  [[nodiscard]] std::optional<TensorId> output(std::size_t position) const {
    return position < outputs.size() ? outputs[position] : std::nullopt;
  }

  // The value of an attribute, or another where it is not given.
  // @throws InvalidInput naming both for an attribute of another kind
  [[nodiscard]] std::int64_t integer(std::string_view attribute,
                                     std::int64_t otherwise) const;
  [[nodiscard]] double real(std::string_view attribute, double otherwise) const;
  [[nodiscard]] std::string text(std::string_view attribute, std::string otherwise) const;
  [[nodiscard]] std::vector<std::int64_t> integers(
      std::string_view attribute, std::vector<std::int64_t> otherwise = {}) const;
};

/// A computation with all that running it needs: operators with types and attributes,
/// which read and write named tensors with element types and shapes.
///
/// Operators are in the order in which a framework would run them. A tensor has one
/// producer or none. Tensors that share their bytes form versions: a tensor of its own
/// and its views are one; one that overwrites begins the next. A version is overwritten
/// once at most, by an operator that runs after all others that read it.
///
///     x --Relu--> y, y overwrites x      versions: {x}, {y, z}
///     y --Reshape--> z, z a view of y    Relu runs when all other readers of x have
///
/// task_graph_of() (operator_tasks.h) makes of it the question of orders and memory.
/// Immutable: changes make another one, with an OperatorGraphBuilder.
class OperatorGraph {
 public:
  OperatorGraph() = default;

  [[nodiscard]] std::size_t size() const { return operators_.size(); }
  [[nodiscard]] bool empty() const { return operators_.empty(); }
  [[nodiscard]] const Operator& op(OperatorId id) const { return operators_[index(id)]; }
  [[nodiscard]] std::span<const Operator> operators() const { return operators_; }

  [[nodiscard]] const Tensor& tensor(TensorId id) const { return tensors_[index(id)]; }
  [[nodiscard]] std::span<const Tensor> tensors() const { return tensors_; }

  [[nodiscard]] std::optional<OperatorId> producer(TensorId id) const {
    return producer_[index(id)];
  }
  /// The operators that read it, each once, by id.
  [[nodiscard]] std::span<const OperatorId> readers(TensorId id) const {
    return readers_[index(id)];
  }
  /// The tensor of its own whose bytes this one lies in; often itself.
  [[nodiscard]] TensorId storage(TensorId id) const { return storage_[index(id)]; }
  /// The first tensor of its version.
  [[nodiscard]] TensorId version(TensorId id) const { return version_[index(id)]; }

  [[nodiscard]] std::optional<TensorId> find_tensor(std::string_view name) const;
  [[nodiscard]] std::optional<OperatorId> find_operator(std::string_view name) const;

  /// Of ONNX's own operators: 9, 13, … Attributes became inputs in some version.
  [[nodiscard]] std::int64_t operator_set() const { return operator_set_; }

 private:
  friend class OperatorGraphBuilder;

  std::vector<Operator> operators_;
  std::vector<Tensor> tensors_;
  std::vector<std::optional<OperatorId>> producer_;  // by tensor
  std::vector<std::vector<OperatorId>> readers_;     // by tensor
  std::vector<TensorId> storage_, version_;          // by tensor
  std::unordered_map<std::string, TensorId> tensor_by_name_;
  std::unordered_map<std::string, OperatorId> operator_by_name_;
  std::int64_t operator_set_ = 0;
};

/// "operator 'conv1' (Conv)".
[[nodiscard]] std::string label(const Operator& op);
/// "tensor 'x' (1x3x224x224)".
[[nodiscard]] std::string label(const Tensor& tensor);

/// Builds an operator graph, item by item. Ids count from 0 in the order of the calls.
class OperatorGraphBuilder {
 public:
  explicit OperatorGraphBuilder(std::int64_t operator_set = 17) {
    graph_.operator_set_ = operator_set;
  }

  /// `bytes` are set from type and shape, unless the tensor is no dense one and has
  /// others.
  /// @throws InvalidInput for a name that is empty or taken, or a negative extent;
  ///         OverflowError for one that is too large
  TensorId add_tensor(Tensor tensor, std::optional<Bytes> bytes = std::nullopt);

  /// Outputs become its own. A name that is empty or taken gets a number.
  /// @throws InvalidInput for an unknown tensor or operator, an output that has a
  /// producer or is not
  ///         computed, and an output that shares bytes with a tensor that is no input of
  ///         the operator, has other bytes or has been overwritten
  OperatorId add_operator(Operator op);

  /// The tensor stays in memory to the end: the next output.
  void keep(TensorId id);
  /// What there is so far.
  [[nodiscard]] const OperatorGraph& graph() const { return graph_; }
  [[nodiscard]] OperatorGraph build() && { return std::move(graph_); }

 private:
  void check(const Operator& op, TensorId id) const;
  void write(OperatorId id, TensorId output);
  void share(const Operator& op, TensorId output);

  OperatorGraph graph_;
  std::vector<bool> overwritten_;  // by version
  std::size_t outputs_ = 0;
};

}  // namespace espalier
