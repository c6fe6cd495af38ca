#include "espalier/sharding/shard_operators.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "espalier/model/error.h"
#include "espalier/sharding/operator_units.h"
#include "espalier/training/operator_work.h"

namespace espalier {
namespace {

constexpr double kPasses = 3;  // forwards, and a gradient of each of two inputs

SpreadTensor spread_tensor(const Tensor& tensor) {
  return {std::max<std::int64_t>(1, first_extent(tensor.shape)),
          std::max<std::int64_t>(1, features(tensor.shape)),
          static_cast<double>(tensor.bytes)};
}

class Builder {
 public:
  Builder(const OperatorGraph& model, const Mesh& mesh, const DeviceFigures& device)
      : model_(model), mesh_(mesh), device_(device), node_(model.tensors().size(), -1) {
    for (std::size_t k = 0; k < model.size(); ++k) add(operator_id(k));
    if (shards_.names.empty())
      throw InvalidInput("the model has no operator that reads an activation");
  }

  OperatorShards build(Bytes limit) && {
    shards_.problem = {std::move(nodes_), std::move(edges_), limit};
    shards_.kinds = kinds_of(shards_.problem);
    return std::move(shards_);
  }

 private:
  // States of the inputs, where they can lie so, and of the result.
  struct Strategy {
    MeshState in = 0, out = 0;
  };

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
    if (is_product(op))
      add_product(id, *result);
    else
      add_local(id, *result);
    for (const auto& output : op.outputs)
      if (output) node_[index(*output)] = last();
    for (const TensorId tensor : read) add_edge(op, tensor, *result);
  }

  [[nodiscard]] std::int32_t last() const {
    return static_cast<std::int32_t>(nodes_.size()) - 1;
  }

  void begin(std::string name) {
    nodes_.push_back({0, 1, {}, {}});
    strategies_.emplace_back();
    shards_.names.push_back(std::move(name));
    shards_.ways.emplace_back();
  }

  void add_strategy(Strategy strategy, Cost cost, Bytes held, std::string name) {
    nodes_.back().costs.push_back(cost);
    nodes_.back().usages.push_back(held);
    strategies_.back().push_back(strategy);
    shards_.ways.back().push_back(std::move(name));
  }

  // An input of the model, or what is computed from constants alone.
  void add_input(TensorId id) {
    const Tensor& tensor = model_.tensor(id);
    const SpreadTensor spread = spread_tensor(tensor);
    begin(tensor.name);
    for (MeshState state = 0; state < state_count(mesh_); ++state) {
      if (!can_lie(tensor.shape, state)) continue;
      const double share = tensor_share(mesh_, spread, state);
      add_strategy({state, state}, 0, bytes_of(spread.bytes * share),
                   describe_state(mesh_, state));
    }
    node_[index(id)] = last();
  }

  [[nodiscard]] bool can_lie(const Shape& shape, MeshState state) const {
    return uses_only(state, {first_extent(shape), features(shape)});
  }

  // A state that spreads what cannot be spread is left out.
  [[nodiscard]] bool uses_only(MeshState state, const OperatorUnits& units) const {
    for (std::size_t a = 0; a < mesh_.axes.size(); ++a) {
      const AxisState on = on_axis(state, a);
      if (on == AxisState::kBatch && units.samples <= 1) return false;
      if (on == AxisState::kFeatures && units.features <= 1) return false;
    }
    return true;
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

  void add_product(OperatorId id, TensorId result) {
    const Operator& op = model_.op(id);
    const WeightProduct product{spread_tensor(model_.tensor(*op.input(0))),
                                spread_tensor(model_.tensor(result)), parameters(op),
                                kPasses * operator_work(model_, id)};
    begin(op.name);
    for (const OperatorWay& way : product_ways(mesh_, product, device_)) {
      if (!can_lie(model_.tensor(*op.input(0)).shape, way.in) ||
          !can_lie(model_.tensor(result).shape, way.out))
        continue;
      const double share = tensor_share(mesh_, product.out, way.out);
      add_strategy({way.in, way.out}, way.cost,
                   checked_add(way.memory, bytes_of(product.out.bytes * share)),
                   way.name);
    }
  }

  void add_local(OperatorId id, TensorId result) {
    const Operator& op = model_.op(id);
    const OperatorUnits units = operator_units(model_, op);
    const SpreadTensor out = spread_tensor(model_.tensor(result));
    const SpreadTensor work{units.samples, units.features, out.bytes};
    const double flops = kPasses * operator_work(model_, id), weights = parameters(op);
    const bool view = is_view(op);
    begin(op.name);
    for (MeshState state = 0; state < state_count(mesh_); ++state) {
      if (!uses_only(state, units)) continue;
      const double part = tensor_share(mesh_, work, state);
      const double own = weights * tensor_share(mesh_, {1, units.features, 0}, state);
      Seconds seconds = flops * part / device_.flops_a_second;
      for (std::size_t a = 0; a < mesh_.axes.size() && weights > 0; ++a)
        if (on_axis(state, a) == AxisState::kBatch)
          seconds += all_reduce_time(own * device_.bytes_a_gradient,
                                     mesh_.axes[a].devices, mesh_.axes[a].link);
      add_strategy(
          {state, state}, cost_of(seconds),
          bytes_of(own * device_.bytes_a_parameter + (view ? 0 : out.bytes * part)),
          describe_state(mesh_, state));
    }
  }

  // The state of an input for a result in that state: what is broadcast along an extent
  // is whole along it.
  [[nodiscard]] MeshState needed(const Operator& op, const Shape& input,
                                 const Shape& result, MeshState state) const {
    if (is_view(op)) return state;
    const bool apart = input.size() == result.size();
    for (std::size_t a = 0; a < mesh_.axes.size(); ++a) {
      const AxisState on = on_axis(state, a);
      const bool kept = on == AxisState::kBatch
                            ? first_extent(input) == first_extent(result)
                            : is_product(op) || features(input) > 1;
      if (!apart || !kept) state = with_axis(state, a, AxisState::kWhole);
    }
    return state;
  }

  void add_edge(const Operator& op, TensorId tensor, TensorId result) {
    const std::int32_t from = node_[index(tensor)], to = last();
    if (from == to) return;
    const Tensor& read = model_.tensor(tensor);
    const SpreadTensor spread = spread_tensor(read);
    const std::int32_t states = state_count(mesh_);
    std::vector<Cost> known;
    for (MeshState a = 0; a < states; ++a)
      for (MeshState b = 0; b < states; ++b)
        known.push_back(reshard_cost(mesh_, spread, a, b));
    ShardingEdge edge{from, to, {}};
    for (const Strategy& first : strategies_[static_cast<std::size_t>(from)]) {
      for (const Strategy& second : strategies_[static_cast<std::size_t>(to)]) {
        const MeshState in =
            needed(op, read.shape, model_.tensor(result).shape, second.in);
        edge.costs.push_back(known[static_cast<std::size_t>(first.out * states + in)]);
      }
    }
    edges_.push_back(std::move(edge));
  }

  const OperatorGraph& model_;
  const Mesh& mesh_;
  const DeviceFigures& device_;
  std::vector<std::int32_t> node_;  // by tensor: that of its producer
  std::vector<ShardingNode> nodes_;
  std::vector<ShardingEdge> edges_;
  std::vector<std::vector<Strategy>> strategies_;  // by node
  OperatorShards shards_;
};

}  // namespace

OperatorShards shard_operators(const OperatorGraph& model, const Mesh& mesh,
                               const DeviceFigures& device, Bytes limit) {
  return Builder(model, mesh, device).build(limit);
}

}  // namespace espalier
