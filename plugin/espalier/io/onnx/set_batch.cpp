#include "espalier/io/onnx/set_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <vector>

#include "espalier/model/error.h"

namespace espalier::onnx_detail {
namespace {

using Dimension = onnx::TensorShapeProto::Dimension;

bool same(const Dimension& a, const Dimension& b) {
  if (a.has_dim_value() || b.has_dim_value())
    return a.has_dim_value() && b.has_dim_value() && a.dim_value() == b.dim_value();
  return a.dim_param() == b.dim_param();
}

// The list of 64-bit integers that a tensor holds; nothing for other tensors.
std::vector<std::int64_t> shape_in(const onnx::TensorProto& tensor) {
  if (tensor.data_type() != onnx::TensorProto::INT64) return {};
  if (!tensor.has_raw_data())
    return {tensor.int64_data().begin(), tensor.int64_data().end()};
  std::vector<std::int64_t> shape(tensor.raw_data().size() / sizeof(std::int64_t));
  if (!shape.empty())
    std::memcpy(shape.data(), tensor.raw_data().data(),
                shape.size() * sizeof(std::int64_t));
  return shape;
}

// What is known before the inputs are.
struct Constants {
  std::set<std::string> names;
  std::map<std::string, onnx::TensorProto> values;  // initializers and constants
};

Constants constants_of(const onnx::GraphProto& graph) {
  Constants known;
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    known.names.insert(tensor.name());
    if (tensor.data_type() == onnx::TensorProto::INT64)
      known.values[tensor.name()] = tensor;
  }
  for (const onnx::SparseTensorProto& tensor : graph.sparse_initializer())
    known.names.insert(tensor.values().name());
  for (const onnx::NodeProto& node : graph.node()) {
    const bool constant =
        std::ranges::all_of(node.input(), [&](const std::string& input) {
          return input.empty() || known.names.contains(input);
        });
    if (!constant) continue;
    known.names.insert(node.output().begin(), node.output().end());
    if (node.op_type() != "Constant" || node.output_size() == 0) continue;
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_t()) known.values[node.output(0)] = attribute.t();
    }
  }
  return known;
}

void change_reshapes(onnx::GraphProto& graph, std::int64_t old, std::int64_t batch) {
  const Constants known = constants_of(graph);
  for (int i = 0; i < graph.node_size(); ++i) {
    onnx::NodeProto& node = *graph.mutable_node(i);
    if (node.op_type() != "Reshape" || node.input_size() < 2) continue;
    if (known.names.contains(node.input(0))) continue;
    const auto target = known.values.find(node.input(1));
    if (target == known.values.end()) continue;
    std::vector<std::int64_t> shape = shape_in(target->second);
    if (shape.size() < 2 || shape.front() != old) continue;
    shape.front() = batch;
    onnx::TensorProto& changed = *graph.add_initializer();
    changed.set_name(fmt::format("{}/batch_{}", node.input(1), i));
    changed.set_data_type(onnx::TensorProto::INT64);
    changed.add_dims(static_cast<std::int64_t>(shape.size()));
    for (const std::int64_t extent : shape) changed.add_int64_data(extent);
    node.set_input(1, changed.name());
  }
}

void forget_shapes(onnx::GraphProto& graph) {
  graph.clear_value_info();
  for (onnx::ValueInfoProto& output : *graph.mutable_output()) {
    if (output.type().has_tensor_type())
      output.mutable_type()->mutable_tensor_type()->clear_shape();
  }
}

// The first extent of a tensor; null when it has none.
Dimension* first_extent(onnx::ValueInfoProto& value) {
  if (!value.type().has_tensor_type()) return nullptr;
  auto& tensor = *value.mutable_type()->mutable_tensor_type();
  if (!tensor.has_shape() || tensor.shape().dim_size() == 0) return nullptr;
  return tensor.mutable_shape()->mutable_dim(0);
}

}  // namespace

void set_batch(onnx::ModelProto& model, std::int64_t batch, const std::string& file) {
  onnx::GraphProto& graph = *model.mutable_graph();
  std::set<std::string> weights;
  for (const onnx::TensorProto& tensor : graph.initializer())
    weights.insert(tensor.name());
  std::vector<onnx::ValueInfoProto*> inputs;
  for (onnx::ValueInfoProto& input : *graph.mutable_input()) {
    if (!weights.contains(input.name())) inputs.push_back(&input);
  }
  if (inputs.empty()) throw FileError(file, 0, "has no input that could have a batch");
  const Dimension* first = first_extent(*inputs.front());
  if (first == nullptr)
    throw FileError(file, 0,
                    fmt::format("input '{}' has no first axis, which a batch would be",
                                inputs.front()->name()));
  const Dimension old = *first;
  for (onnx::ValueInfoProto* input : inputs) {
    Dimension* extent = first_extent(*input);
    if (extent != nullptr && same(*extent, old)) extent->set_dim_value(batch);
  }
  if (old.has_dim_value()) change_reshapes(graph, old.dim_value(), batch);
  forget_shapes(graph);
}

}  // namespace espalier::onnx_detail
