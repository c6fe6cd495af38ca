#include "training/step/networks.h"

#include <cstring>

#include "espalier/training/transformer.h"
#include "training/step/draft.h"
#include "training/step/initial_values.h"
#include "training/step/input_values.h"
#include "training/step/mlp.h"

namespace espalier::training {
namespace {

using Numbers = std::vector<std::int64_t>;

}  // namespace

OperatorGraph small_convnet(std::int64_t batch) {
  Draft draft;
  const std::int64_t b = batch;
  const TensorId image = draft.input({b, 3, 12, 12});
  TensorId x = draft.op("Conv", {image, draft.parameter({16, 3, 3, 3})}, {b, 16, 12, 12},
                        {{"pads", Numbers{1, 1, 1, 1}}});
  x = draft.op("BatchNormalization",
               {x, draft.parameter({16}), draft.parameter({16}), draft.parameter({16}),
                draft.parameter({16})},
               {b, 16, 12, 12});
  x = draft.op("Relu", {x}, {b, 16, 12, 12});
  x = draft.op("MaxPool", {x}, {b, 16, 6, 6},
               {{"kernel_shape", Numbers{3, 3}},
                {"strides", Numbers{2, 2}},
                {"pads", Numbers{0, 0, 1, 1}}});
  TensorId branch =
      draft.op("Conv", {x, draft.parameter({16, 16, 3, 3}), draft.parameter({16})},
               {b, 16, 6, 6}, {{"pads", Numbers{1, 1, 1, 1}}});
  x = draft.op("Add", {x, branch}, {b, 16, 6, 6});
  x = draft.op("Relu", {x}, {b, 16, 6, 6});
  branch = draft.op("Conv", {x, draft.parameter({32, 8, 1, 1})}, {b, 32, 6, 6},
                    {{"group", std::int64_t{2}}});
  x = draft.op("Concat", {x, branch}, {b, 48, 6, 6}, {{"axis", std::int64_t{1}}});
  x = draft.op("AveragePool", {x}, {b, 48, 3, 3},
               {{"kernel_shape", Numbers{2, 2}}, {"strides", Numbers{2, 2}}});
  x = draft.op("Flatten", {x}, {b, 432});
  x = draft.op("Gemm", {x, draft.parameter({7, 432}), draft.parameter({7})}, {b, 7},
               {{"transB", std::int64_t{1}}});
  return draft.build(x);
}

OperatorGraph small_upward_net(std::int64_t batch) {
  Draft draft;
  const std::int64_t b = batch;
  const TensorId image = draft.input({b, 6, 5, 5});
  const Shape wide = {b, 8, 9, 9};
  TensorId x = draft.op(
      "ConvTranspose", {image, draft.parameter({6, 8, 3, 3}), draft.parameter({8})}, wide,
      {{"strides", Numbers{2, 2}}, {"pads", Numbers{1, 1, 1, 1}}});
  x = draft.op("InstanceNormalization", {x, draft.parameter({8}), draft.parameter({8})},
               wide);
  x = draft.op("Max", {x, draft.parameter({8, 1, 1})}, wide);
  const TensorId y =
      draft.op("ConvTranspose", {x, draft.parameter({8, 4, 3, 3})}, wide,
               {{"group", std::int64_t{2}}, {"pads", Numbers{1, 1, 1, 1}}});
  x = draft.op("Min", {y, x, draft.op("Softplus", {x}, wide)}, wide);
  x = draft.op("GroupNormalization", {x, draft.parameter({8}), draft.parameter({8})},
               wide, {{"num_groups", std::int64_t{4}}});
  x = draft.op("Selu", {x}, wide);
  x = draft.op("GlobalMaxPool", {x}, {b, 8, 1, 1});
  x = draft.op("Flatten", {x}, {b, 8});
  x = draft.op("Dropout", {x, draft.constant(0.2F)}, {b, 8});
  x = draft.op("Gemm", {x, draft.parameter({8, 3}), draft.parameter({3})}, {b, 3},
               {{"beta", 0.5}});
  return draft.build(x);
}

OperatorGraph small_broadcasting_net(std::int64_t batch) {
  Draft draft;
  const std::int64_t b = batch;
  const TensorId image = draft.input({b, 8, 6, 6});
  const TensorId pooled = draft.op("MaxPool", {image}, {b, 8, 3, 3},
                                   {{"kernel_shape", Numbers{3, 3}},
                                    {"strides", Numbers{2, 2}},
                                    {"pads", Numbers{0, 0, 1, 1}}});
  TensorId x = draft.op("Conv", {pooled, draft.parameter({8, 8, 1, 1})}, {b, 8, 3, 3});
  x = draft.op("LRN", {x}, {b, 8, 3, 3}, {{"size", std::int64_t{4}}, {"alpha", 2.0}});
  x = draft.op("Concat", {pooled, x}, {b, 16, 3, 3}, {{"axis", std::int64_t{1}}});
  const auto pieces =
      draft.several("Split", {x}, {{b, 4, 3, 3}, {b, 7, 3, 3}, {b, 5, 3, 3}},
                    {{"axis", std::int64_t{1}}, {"split", Numbers{4, 7, 5}}});
  x = draft.op("Concat", {pieces[2], pieces[0]}, {b, 9, 3, 3},
               {{"axis", std::int64_t{1}}});
  x = draft.op("Reshape", {x, draft.constant(Numbers{0, 9, -1})}, {b, 9, 9});
  x = draft.op("LayerNormalization", {x, draft.parameter({9}), draft.parameter({9, 1})},
               {b, 9, 9}, {{"axis", std::int64_t{1}}});
  x = draft.op("ReduceSum", {x}, {b, 9, 9}, {{"noop_with_empty_axes", std::int64_t{1}}});
  x = draft.op("MatMul", {draft.parameter({5, 9}), x}, {b, 5, 9});
  x = draft.op("MatMul", {x, draft.parameter({3, 1, 9, 6})}, {3, b, 5, 6});
  x = draft.op("ReduceMean", {x}, {b, 5, 6},
               {{"axes", Numbers{0}}, {"keepdims", std::int64_t{0}}});
  x = draft.op("Sum", {draft.parameter({6}), x, draft.parameter({5, 1})}, {b, 5, 6});
  x = draft.op("MatMul", {x, draft.parameter({6})}, {b, 5});
  x = draft.op("Pow", {x, draft.constant(Numbers{2})}, {b, 5});
  x = draft.op("Gemm", {x, draft.parameter({5, 3}), draft.parameter({3})}, {b, 3});
  return draft.build(x);
}

OperatorGraph small_transformer() {
  return transformer({.layers = 2,
                      .width = 16,
                      .heads = 2,
                      .sequence = 6,
                      .vocabulary = 11,
                      .batch = 3,
                      .dropout = 0.1});
}

std::vector<Network> small_networks() {
  std::vector<Network> networks;
  networks.push_back({"perceptron", mlp({13, 32, 24, 5}, 8)});
  networks.push_back({"convnet", small_convnet(4)});
  networks.push_back({"upward net", small_upward_net(4)});
  networks.push_back({"broadcasting net", small_broadcasting_net(4)});
  networks.push_back({"transformer", small_transformer()});
  return networks;
}

OracleStep::OracleStep(const TrainingGraph& training, const RecipeOptions& options,
                       std::uint64_t seed)
    : training_(training),
      seed_(seed),
      kernels_(make_kernels(training.graph, options, make_reference_kernel, false)) {
  reset();
}

double* OracleStep::values(TensorId id) const {
  return const_cast<double*>(memory_[index(training_.graph.storage(id))].data());
}

void OracleStep::reset() {
  const OperatorGraph& graph = training_.graph;
  memory_.resize(graph.tensors().size());
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    const TensorId id = tensor_id(i);
    const Tensor& tensor = graph.tensor(id);
    if (graph.storage(id) != id) continue;
    memory_[i].assign(static_cast<std::size_t>(element_count(tensor.shape)) + 8, 0);
    std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.bytes));
    if (tensor.role == TensorRole::kInput)
      fill_input(training_, id, seed_, bytes);
    else if (tensor.role != TensorRole::kComputed)
      fill_initial_value(graph, id, seed_, bytes);
    if (tensor.type != ElementType::kFloat32) {
      if (!bytes.empty()) std::memcpy(memory_[i].data(), bytes.data(), bytes.size());
      continue;
    }
    const auto* const single = reinterpret_cast<const float*>(bytes.data());
    for (std::size_t j = 0; j < bytes.size() / sizeof(float); ++j)
      memory_[i][j] = static_cast<double>(single[j]);
  }
}

void OracleStep::run(std::int64_t step) {
  const OperatorGraph& graph = training_.graph;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    Kernel* const kernel = kernels_.by_operator[i].get();
    if (kernel == nullptr) continue;
    const auto place = [&](const std::optional<TensorId>& id) {
      return id ? reinterpret_cast<std::byte*>(values(*id)) : nullptr;
    };
    std::vector<std::byte*> inputs, outputs;
    for (const auto& id : graph.operators()[i].inputs) inputs.push_back(place(id));
    for (const auto& id : graph.operators()[i].outputs) outputs.push_back(place(id));
    std::vector<double> scratch(static_cast<std::size_t>(kernel->scratch_bytes()) / 8 +
                                1);
    kernel->run(
        {inputs, outputs, reinterpret_cast<std::byte*>(scratch.data()), step, seed_});
    if (watched_id_ && graph.producer(*watched_id_) == operator_id(i))
      watched_ = memory_[index(graph.storage(*watched_id_))];
  }
}

}  // namespace espalier::training
