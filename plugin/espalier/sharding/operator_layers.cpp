#include "espalier/sharding/operator_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "espalier/model/error.h"
#include "espalier/training/backbone.h"
#include "espalier/training/operator_work.h"
#include "espalier/training/training_graph.h"

namespace espalier {

namespace {

/// Every operator writes memory of its own, and updates come last, so that a layer is
/// what its forward and backward operators hold.
TrainingGraph step_of(const OperatorGraph& model) {
  TrainingOptions options;
  options.updates = UpdateTime::kLast;
  options.in_place = false;
  options.alias_views = false;
  return training_graph(model, options);
}

class LayerBuilder {
 public:
  LayerBuilder(const TrainingGraph& step, const OperatorLayerOptions& options)
      : step_(step),
        graph_(step.graph),
        options_(options),
        backbone_(backbone(step, options.most_layers)) {
    join_views();
    deal();
  }

  LayeredModel build() {
    LayeredModel model;
    for (std::size_t i = 0; i < backbone_.stages.size(); ++i) {
      model.kinds.push_back(layer(i));
      model.layers.push_back(static_cast<std::int32_t>(i));
    }
    std::map<TensorId, std::int64_t> before;
    for (std::int64_t i = 0; i < model.size(); ++i)
      for (const TensorId each : parameters(static_cast<std::size_t>(i))) {
        const auto [at, fresh] = before.try_emplace(each, i);
        if (!fresh)
          model.ties.push_back({std::exchange(at->second, i), i, elements(each)});
      }
    check(model);
    return model;
  }

 private:
  using Operators = std::vector<OperatorId>;

  [[nodiscard]] bool is_computed(TensorId id) const {
    return graph_.tensor(id).role == TensorRole::kComputed;
  }
  [[nodiscard]] Bytes bytes(TensorId id) const {
    const Tensor& tensor = graph_.tensor(id);
    const bool half = options_.halved && tensor.type == ElementType::kFloat32;
    return half ? tensor.bytes / 2 : tensor.bytes;
  }
  [[nodiscard]] std::int64_t elements(TensorId id) const {
    std::int64_t count = 1;
    for (const std::int64_t extent : graph_.tensor(id).shape)
      count = checked_mul(count, extent);
    return count;
  }

  // Stages that give on the state they were given have only read it in another shape.
  void join_views() {
    auto& stages = backbone_.stages;
    for (std::size_t i = stages.size() - 1; i-- > 0;) {
      if (!stages[i].input || stages[i + 1].input != stages[i].input) continue;
      Backbone::Stage& from = stages[i];
      Backbone::Stage& into = stages[i + 1];
      into.forward.insert(into.forward.begin(), from.forward.begin(), from.forward.end());
      into.backward.insert(into.backward.end(), from.backward.begin(),
                           from.backward.end());
      stages.erase(stages.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  // The layer of each backward operator, and which of them only add up gradients of
  // parameters that are kept anyway.
  void deal() {
    for (std::size_t i = 0; i < backbone_.stages.size(); ++i)
      for (const OperatorId id : backbone_.stages[i].backward) layer_of_[id] = i;
    for (const OperatorId id : backbone_.last) updates_.insert(id);
    for (auto stage = backbone_.stages.begin(); stage != backbone_.stages.end(); ++stage)
      for (auto id = stage->backward.rbegin(); id != stage->backward.rend(); ++id)
        if (graph_.op(*id).type == "Accumulate" && only_updates(*id))
          updates_.insert(*id);
    for (std::size_t i = 1; i < backbone_.stages.size(); ++i)
      gradient_.push_back(passing(i));
  }

  [[nodiscard]] bool only_updates(OperatorId id) const {
    const auto& outputs = graph_.op(id).outputs;
    return std::ranges::all_of(
        outputs, [&](const auto& output) { return !output || is_final(*output); });
  }
  /// A gradient of a parameter: read by nothing but updates.
  [[nodiscard]] bool is_final(TensorId id) const {
    const auto readers = graph_.readers(id);
    return !readers.empty() && std::ranges::all_of(readers, [&](OperatorId reader) {
      return updates_.contains(reader) ||
             step_.phase[index(reader)] == StepPhase::kUpdate;
    });
  }

  /// What backward of layer i writes for the layer before it.
  [[nodiscard]] std::optional<TensorId> passing(std::size_t i) const {
    std::set<TensorId> found;
    for (const OperatorId id : backbone_.stages[i].backward) {
      for (const auto& output : graph_.op(id).outputs) {
        if (!output || is_final(*output)) continue;
        for (const OperatorId reader : graph_.readers(*output)) {
          const auto at = layer_of_.find(reader);
          if (at == layer_of_.end() || at->second == i) continue;
          if (at->second + 1 != i) fail(i, *output);
          found.insert(graph_.storage(*output));
        }
      }
    }
    if (found.size() > 1) fail(i, *found.rbegin());
    return found.empty() ? std::nullopt : std::optional(*found.begin());
  }

  [[noreturn]] void fail(std::size_t i, TensorId id) const {
    throw InvalidInput(fmt::format(
        "between layers {} and {} passes {} beside the state and its gradient", i - 1, i,
        label(graph_.tensor(id))));
  }

  [[nodiscard]] std::set<TensorId> read_by(std::size_t i, TensorRole role) const {
    std::set<TensorId> found;
    for (const auto* operators :
         {&backbone_.stages[i].forward, &backbone_.stages[i].backward})
      for (const OperatorId id : *operators)
        for (const auto& input : graph_.op(id).inputs)
          if (input && graph_.tensor(graph_.storage(*input)).role == role)
            found.insert(graph_.storage(*input));
    return found;
  }
  [[nodiscard]] std::set<TensorId> parameters(std::size_t i) const {
    return read_by(i, TensorRole::kParameter);
  }

  Layer layer(std::size_t i) {
    const Backbone::Stage& stage = backbone_.stages[i];
    const bool last = i + 1 == backbone_.stages.size();
    const std::optional<TensorId> output =
        last ? step_.loss : backbone_.stages[i + 1].input;
    Layer layer;
    layer.name = graph_.op(stage.forward.front()).name;
    for (const TensorId each : parameters(i))
      layer.parameters = checked_add(layer.parameters, elements(each));
    for (const TensorId each : read_by(i, TensorRole::kConstant))
      layer.constants = checked_add(layer.constants, bytes(each));
    local_.clear();
    const auto state = [&](const std::optional<TensorId>& id, const char* name) {
      layer.tensors.push_back({name, id ? bytes(*id) : 0});
      if (id) local_[*id] = static_cast<std::int32_t>(layer.tensors.size()) - 1;
    };
    state(stage.input, "input");
    state(graph_.storage(*output), "output");
    state(last ? std::nullopt : gradient_[i], "gradient of output");
    state(i == 0 ? std::nullopt : gradient_[i - 1], "gradient of input");
    for (const TensorId each : read_by(i, TensorRole::kInput)) {
      LayerOperator load;
      load.name = "read " + graph_.tensor(each).name;
      load.writes = {tensor(layer, each)};
      layer.forward.push_back(std::move(load));
    }
    for (const OperatorId id : stage.forward) layer.forward.push_back(convert(layer, id));
    for (const OperatorId id : stage.backward)
      if (!updates_.contains(id)) layer.backward.push_back(convert(layer, id));
    return layer;
  }

  std::int32_t tensor(Layer& layer, TensorId id) {
    const auto [at, fresh] =
        local_.try_emplace(id, static_cast<std::int32_t>(layer.tensors.size()));
    if (fresh) layer.tensors.push_back({graph_.tensor(id).name, bytes(id)});
    return at->second;
  }

  LayerOperator convert(Layer& layer, OperatorId id) {
    const Operator& op = graph_.op(id);
    LayerOperator result;
    result.name = op.name;
    result.flops = operator_work(graph_, id);
    result.workspace = op.workspace;
    for (const auto& input : op.inputs) {
      if (!input) continue;
      const TensorId storage = graph_.storage(*input);
      const TensorRole role = graph_.tensor(storage).role;
      if (role == TensorRole::kComputed || role == TensorRole::kInput) {
        const std::int32_t read = tensor(layer, storage);
        if (std::ranges::find(result.reads, read) == result.reads.end())
          result.reads.push_back(read);
      } else {
        result.parameter_bytes = checked_add(result.parameter_bytes, bytes(storage));
      }
    }
    for (const auto& output : op.outputs) {
      if (!output || graph_.storage(*output) != *output || !is_computed(*output))
        continue;
      if (is_final(*output)) {
        result.parameter_bytes =
            checked_add(result.parameter_bytes, checked_mul(2, bytes(*output)));
      } else {
        result.writes.push_back(tensor(layer, *output));
      }
    }
    return result;
  }

  const TrainingGraph& step_;
  const OperatorGraph& graph_;
  const OperatorLayerOptions& options_;
  Backbone backbone_;
  std::map<OperatorId, std::size_t> layer_of_;  ///< of backward operators
  std::set<OperatorId> updates_;
  std::vector<std::optional<TensorId>> gradient_;  ///< between layers i and i + 1
  std::map<TensorId, std::int32_t> local_;
};

}  // namespace

LayeredModel operator_layers(const OperatorGraph& model,
                             const OperatorLayerOptions& options) {
  const TrainingGraph step = step_of(model);
  return LayerBuilder(step, options).build();
}

}  // namespace espalier
