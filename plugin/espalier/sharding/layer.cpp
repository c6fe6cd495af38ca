#include "espalier/sharding/layer.h"

#include <fmt/format.h>

#include "espalier/model/error.h"

namespace espalier {

namespace {

void check_operators(const Layer& layer, const std::vector<LayerOperator>& operators,
                     std::vector<bool>& written) {
  for (const LayerOperator& op : operators) {
    const auto known = [&](std::int32_t tensor) {
      if (tensor < 0 || static_cast<std::size_t>(tensor) >= layer.tensors.size())
        throw InvalidInput(fmt::format("layer {}, operator {}: no tensor {}", layer.name,
                                       op.name, tensor));
      return static_cast<std::size_t>(tensor);
    };
    for (const std::int32_t tensor : op.reads)
      if (!written[known(tensor)])
        throw InvalidInput(
            fmt::format("layer {}, operator {}: reads {} before it is written",
                        layer.name, op.name, layer.tensors[known(tensor)].name));
    for (const std::int32_t tensor : op.writes) written[known(tensor)] = true;
    if (op.workspace < 0 || op.reduced < 0 || op.parameter_bytes < 0 || !(op.flops >= 0))
      throw InvalidInput(
          fmt::format("layer {}, operator {}: a negative cost", layer.name, op.name));
  }
}

void check(const Layer& layer) {
  if (layer.tensors.size() <= kInputGradient)
    throw InvalidInput(fmt::format("layer {} has no states", layer.name));
  if (layer.parameters < 0 || layer.constants < 0)
    throw InvalidInput(
        fmt::format("layer {}: {} parameters", layer.name, layer.parameters));
  for (const LayerTensor& tensor : layer.tensors)
    if (tensor.size < 0)
      throw InvalidInput(
          fmt::format("layer {}, {}: {} bytes", layer.name, tensor.name, tensor.size));
  std::vector<bool> written(layer.tensors.size(), false);
  written[kInput] = true;
  check_operators(layer, layer.forward, written);
  if (!written[kOutput])
    throw InvalidInput(fmt::format("layer {}: nothing writes its output", layer.name));
  written[kOutputGradient] = true;
  check_operators(layer, layer.backward, written);
}

}  // namespace

std::int64_t parameters_of(const LayeredModel& model) {
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < model.size(); ++i)
    sum = checked_add(sum, model.layer(i).parameters);
  for (const LayeredModel::Tie& tie : model.ties) sum -= tie.parameters;
  return sum;
}

void check(const LayeredModel& model) {
  if (model.layers.empty()) throw InvalidInput("a network without layers");
  for (const Layer& kind : model.kinds) check(kind);
  for (std::int64_t i = 0; i < model.size(); ++i) {
    if (model.kind_of(i) < 0 ||
        static_cast<std::size_t>(model.kind_of(i)) >= model.kinds.size())
      throw InvalidInput(fmt::format("layer {}: no kind {}", i, model.kind_of(i)));
    if (i == 0) continue;
    const auto size = [&](std::int64_t of, LayerState state) {
      return model.layer(of).tensors[state].size;
    };
    if (size(i - 1, kOutput) != size(i, kInput) ||
        size(i - 1, kOutputGradient) != size(i, kInputGradient))
      throw InvalidInput(
          fmt::format("between layers {} and {} the sizes differ: {} and "
                      "{} bytes",
                      i - 1, i, size(i - 1, kOutput), size(i, kInput)));
  }
}

}  // namespace espalier
