#include "espalier/sharding/shard_operators.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "espalier/model/error.h"
#include "espalier/sharding/operator_units.h"
#include "espalier/sharding/strategy_tables.h"
#include "espalier/training/operator_work.h"

namespace espalier {
namespace {

constexpr double kPasses = 3;  // forwards, and a gradient of each of two inputs

SpreadTensor spread_tensor(const Tensor& tensor) {
  return {std::max<std::int64_t>(1, first_extent(tensor.shape)),
          std::max<std::int64_t>(1, features(tensor.shape)),
          static_cast<double>(tensor.bytes)};
}

class OperatorsBuilder {
 public:
  OperatorsBuilder(const OperatorGraph& model, const Mesh& mesh,
                   const DeviceFigures& device)
      : model_(model), tables_(mesh, device), node_(model.tensors().size(), -1) {
    for (std::size_t k = 0; k < model.size(); ++k) add(operator_id(k));
    if (shards_.names.empty())
      throw InvalidInput("the model has no operator that reads an activation");
  }

  OperatorShards build(Bytes limit) && {
    shards_.problem = {std::move(nodes_), std::move(edges_), limit};
    shards_.strategies = std::move(tables_).take_strategies();
    return std::move(shards_);
  }

 private:
  [[nodiscard]] bool is_activation(TensorId id) const {
    const TensorRole role = model_.tensor(id).role;
    return role == TensorRole::kComputed || role == TensorRole::kInput;
  }

  [[nodiscard]] std::vector<TensorId> activations(const Operator& op) const {
    std::vector<TensorId> read;
    for (const auto& input : op.inputs)
      if (input && is_activation(*input) && std::ranges::find(read, *input) == read.end())
        read.push_back(*input);
    return read;
  }

  [[nodiscard]] double parameters(const Operator& op) const {
    double sum = 0;
    for (const auto& input : op.inputs)
      if (input && !is_activation(*input))
        sum += static_cast<double>(element_count(model_.tensor(*input).shape));
    return sum;
  }

  void add(OperatorId id) {
    const Operator& op = model_.op(id);
    const std::vector<TensorId> read = activations(op);
    const std::optional<TensorId> result = op.output(0);
    if (read.empty() || !result) return;
    for (const TensorId tensor : read)
      if (node_[index(tensor)] < 0) add_input(tensor);
    const bool product = is_product(op);
    add_node(op.name,
             product ? product_strategies(id, *result) : local_strategies(id, *result));
    for (const auto& output : op.outputs)
      if (output) node_[index(*output)] = last();
    for (const TensorId tensor : read) add_edge(op, tensor, *result, product);
  }

  [[nodiscard]] std::int32_t last() const {
    return static_cast<std::int32_t>(nodes_.size()) - 1;
  }

  void add_node(std::string name, std::int32_t strategies) {
    const StrategyTable& table = tables_.strategies(strategies);
    nodes_.push_back({0, 1, table.costs, table.usages});
    shards_.names.push_back(std::move(name));
    shards_.kinds.nodes.push_back(strategies);
    shards_.kinds.most_cost += most_allowed(table.costs);
  }

  void add_input(TensorId id) {
    const Tensor& tensor = model_.tensor(id);
    add_node(tensor.name, tables_.of_input(spread_tensor(tensor)));
    node_[index(id)] = last();
  }

  // One weight, whose rows and columns can be spread.
  [[nodiscard]] bool is_product(const Operator& op) const {
    const auto left = op.input(0), right = op.input(1);
    if (!left || !right || !is_activation(*left) || is_activation(*right)) return false;
    if (op.type == "Conv") return op.integer("group", 1) == 1;
    if (op.type == "Gemm") return op.integer("transA", 0) == 0;
    return op.type == "MatMul" && model_.tensor(*right).shape.size() == 2 &&
           model_.tensor(*left).shape.size() <= 3;
  }

  [[nodiscard]] std::int32_t product_strategies(OperatorId id, TensorId result) {
    const Operator& op = model_.op(id);
    return tables_.of_product({spread_tensor(model_.tensor(*op.input(0))),
                               spread_tensor(model_.tensor(result)), parameters(op),
                               kPasses * operator_work(model_, id)});
  }

  [[nodiscard]] std::int32_t local_strategies(OperatorId id, TensorId result) {
    const Operator& op = model_.op(id);
    const double bytes = spread_tensor(model_.tensor(result)).bytes;
    return tables_.of_local({operator_units(model_, op), is_view(op) ? 0 : bytes, bytes,
                             parameters(op), kPasses * operator_work(model_, id)});
  }

  void add_edge(const Operator& op, TensorId tensor, TensorId result, bool product) {
    const std::int32_t from = node_[index(tensor)], to = last();
    if (from == to) return;
    const Tensor& read = model_.tensor(tensor);
    const Shape& shape = model_.tensor(result).shape;
    const std::int32_t number = tables_.of_edge(
        kind(from), kind(to),
        {spread_tensor(read), is_view(op), read.shape.size() == shape.size(),
         first_extent(read.shape) == first_extent(shape),
         product || features(read.shape) > 1});
    edges_.push_back({from, to, tables_.costs(number)});
    shards_.kinds.edges.push_back(number);
    shards_.kinds.most_cost += most_allowed(edges_.back().costs);
  }

  [[nodiscard]] std::int32_t kind(std::int32_t node) const {
    return shards_.kinds.nodes[static_cast<std::size_t>(node)];
  }

  const OperatorGraph& model_;
  StrategyTables tables_;
  std::vector<std::int32_t> node_;  // by tensor: that of its producer
  std::vector<ShardingNode> nodes_;
  std::vector<ShardingEdge> edges_;
  OperatorShards shards_;
};

}  // namespace

OperatorShards shard_operators(const OperatorGraph& model, const Mesh& mesh,
                               const DeviceFigures& device, Bytes limit) {
  return OperatorsBuilder(model, mesh, device).build(limit);
}

}  // namespace espalier
