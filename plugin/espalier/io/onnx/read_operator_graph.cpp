#include "espalier/io/onnx/read_operator_graph.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include <algorithm>
#include <istream>
#include <limits>
#include <optional>
#include <tl/expected.hpp>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "espalier/io/onnx/attributes.h"
#include "espalier/io/onnx/infer_shapes.h"
#include "espalier/io/onnx/set_batch.h"
#include "espalier/io/onnx/tensor_data.h"
#include "espalier/io/onnx/tensor_size.h"
#include "espalier/io/text_file.h"
#include "espalier/model/error.h"

namespace espalier {
namespace {

onnx::ModelProto parse_model(std::istream& in, const std::string& file) {
  if (in.peek() == std::istream::traits_type::eof())
    throw FileError(file, 0, in.bad() ? "cannot be read" : "is empty");
  google::protobuf::io::IstreamInputStream bytes(&in);
  google::protobuf::io::CodedInputStream coded(&bytes);
  coded.SetTotalBytesLimit(std::numeric_limits<int>::max());
  onnx::ModelProto model;
  if (!model.ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage())
    throw FileError(file, 0, "is not an ONNX model, or is cut off");
  if (!model.has_graph()) throw FileError(file, 0, "is an ONNX model without a graph");
  return model;
}

// What the graphs inside a node read that they do not define themselves.
std::vector<std::string> captured(const onnx::NodeProto& node) {
  std::vector<std::string> read;
  std::unordered_set<std::string> defined;
  std::vector<const onnx::NodeProto*> nodes = {&node};
  const auto enter = [&](const onnx::GraphProto& graph) {
    for (const auto& value : graph.input()) defined.insert(value.name());
    for (const auto& tensor : graph.initializer()) defined.insert(tensor.name());
    for (const auto& value : graph.output()) read.push_back(value.name());
    for (const onnx::NodeProto& inside : graph.node()) {
      defined.insert(inside.output().begin(), inside.output().end());
      read.insert(read.end(), inside.input().begin(), inside.input().end());
      nodes.push_back(&inside);
    }
  };
  while (!nodes.empty()) {
    const onnx::NodeProto& next = *nodes.back();
    nodes.pop_back();
    for (const onnx::AttributeProto& attribute : next.attribute()) {
      if (attribute.has_g()) enter(attribute.g());
      for (const onnx::GraphProto& graph : attribute.graphs()) enter(graph);
    }
  }
  std::erase_if(read, [&](const std::string& name) { return defined.contains(name); });
  return read;
}

bool is_constant(const onnx::NodeProto& node) {
  return node.op_type() == "Constant" && node.domain().empty();
}

std::int64_t operator_set(const onnx::ModelProto& model) {
  for (const onnx::OperatorSetIdProto& set : model.opset_import()) {
    if (set.domain().empty() || set.domain() == "ai.onnx") return set.version();
  }
  return 1;
}

// The graph of a model whose shapes have been inferred.
class OnnxGraph {
 public:
  OnnxGraph(onnx::ModelProto& model, const OnnxOptions& options, const std::string& file)
      : graph_(*model.mutable_graph()),
        options_(options),
        file_(file),
        builder_(operator_set(model)) {
    for (const auto* values : {&graph_.input(), &graph_.output(), &graph_.value_info()}) {
      for (const onnx::ValueInfoProto& value : *values)
        types_.emplace(value.name(), &value.type());
    }
  }

  OperatorGraph build() {
    try {
      add_initializers();
      add_inputs();
      for (int i = 0; i < graph_.node_size(); ++i) add_outputs(*graph_.mutable_node(i));
      for (int i = 0; i < graph_.node_size(); ++i) {
        if (!is_constant(graph_.node(i))) add_operator(*graph_.mutable_node(i), i);
      }
      keep_outputs();
      return std::move(builder_).build();
    } catch (const FileError&) {
      throw;
    } catch (const Error& error) {
      throw FileError(file_, 0, error.what());
    }
  }

 private:
  using Size = tl::expected<Bytes, std::string>;

  // Calls `measure`, whose failure is said to be that of `what`.
  template <class Measure>
  Bytes size(const std::string& what, const Measure& measure) const {
    Size bytes = 0;
    try {
      bytes = measure();
    } catch (const OverflowError&) {
      bytes = tl::unexpected<std::string>("its size leaves the 64-bit range");
    }
    if (!bytes) throw FileError(file_, 0, fmt::format("{}: {}", what, bytes.error()));
    return *bytes;
  }

  // The tensor as its type says, without a role.
  Tensor by_type(const std::string& what, const std::string& name) const {
    Tensor tensor{.name = name, .shape = {}};
    (void)size(what, [&]() -> Size {
      const auto type = types_.find(name);
      if (type == types_.end())
        return tl::unexpected<std::string>("its shape is not known");
      return onnx_detail::size_of(*type->second, name);
    });
    const auto& dense = types_.at(name)->tensor_type();
    tensor.type = *onnx_detail::element_type_of(dense.elem_type());
    for (const auto& dimension : dense.shape().dim())
      tensor.shape.push_back(dimension.dim_value());
    return tensor;
  }

  TensorId add(Tensor tensor, std::optional<Bytes> bytes = std::nullopt) {
    if (builder_.graph().find_tensor(tensor.name))
      throw FileError(file_, 0,
                      fmt::format("two tensors have the name '{}'", tensor.name));
    const Bytes wanted = bytes ? *bytes : tensor_bytes(tensor.type, tensor.shape);
    const auto held = static_cast<Bytes>(
        tensor.value ? tensor.value->held_bytes().value_or(wanted) : wanted);
    if (held != wanted)
      throw FileError(file_, 0,
                      fmt::format("{} of {} bytes has a value of {} bytes", label(tensor),
                                  wanted, held));
    return builder_.add_tensor(std::move(tensor), bytes);
  }

  void add_initializers() {
    for (onnx::TensorProto& tensor : *graph_.mutable_initializer()) {
      const std::string what = fmt::format("initializer '{}'", tensor.name());
      Tensor added{.name = tensor.name(), .role = TensorRole::kConstant};
      (void)size(what, [&] { return onnx_detail::size_of(tensor); });
      added.type = *onnx_detail::element_type_of(tensor.data_type());
      added.shape.assign(tensor.dims().begin(), tensor.dims().end());
      added.kept = options_.keep_weights;
      added.value = onnx_detail::take_value(tensor, file_);
      (void)add(std::move(added));
    }
    for (const onnx::SparseTensorProto& tensor : graph_.sparse_initializer()) {
      const std::string& name = tensor.values().name();
      Tensor added{.name = name, .role = TensorRole::kConstant};
      const Bytes bytes = size(fmt::format("sparse initializer '{}'", name),
                               [&] { return onnx_detail::size_of(tensor); });
      added.type = *onnx_detail::element_type_of(tensor.values().data_type());
      added.shape.assign(tensor.dims().begin(), tensor.dims().end());
      added.kept = options_.keep_weights;
      (void)add(std::move(added), bytes);
    }
  }

  // Older models list initializers among the inputs.
  void add_inputs() {
    const std::size_t initializers = static_cast<std::size_t>(
        graph_.initializer_size() + graph_.sparse_initializer_size());
    for (const onnx::ValueInfoProto& input : graph_.input()) {
      const auto known = builder_.graph().find_tensor(input.name());
      if (known && index(*known) < initializers) continue;
      Tensor tensor = by_type(fmt::format("input '{}'", input.name()), input.name());
      tensor.role = TensorRole::kInput;
      (void)add(std::move(tensor));
    }
  }

  void add_outputs(onnx::NodeProto& node) {
    for (int i = 0; i < node.output_size(); ++i) {
      const std::string& output = node.output(i);
      if (output.empty()) continue;  // optional, left out
      Tensor tensor = by_type(fmt::format("output '{}' of operator '{}' ({})", output,
                                          node.name(), node.op_type()),
                              output);
      if (is_constant(node)) {
        tensor.role = TensorRole::kConstant;
        tensor.kept = options_.keep_weights;
        tensor.trained = Trained::kNever;
        tensor.value = onnx_detail::constant_value(node, file_);
      }
      (void)add(std::move(tensor));
    }
  }

  TensorId find_read(const onnx::NodeProto& node, const std::string& tensor) const {
    const auto found = builder_.graph().find_tensor(tensor);
    if (!found)
      throw FileError(file_, 0,
                      fmt::format("operator '{}' ({}) reads tensor '{}', which nothing "
                                  "writes",
                                  node.name(), node.op_type(), tensor));
    return *found;
  }

  void add_operator(onnx::NodeProto& node, int number) {
    Operator op{.name = node.name(),
                .type = node.op_type(),
                .domain = node.domain(),
                .inputs = {},
                .outputs = {}};
    if (op.domain == "ai.onnx") op.domain.clear();
    if (op.name.empty()) op.name = fmt::format("{}_{}", op.type, number);
    while (builder_.graph().find_operator(op.name)) op.name += fmt::format("_{}", number);
    const auto optional = [&](const std::string& name) -> std::optional<TensorId> {
      if (name.empty()) return std::nullopt;  // left out
      return find_read(node, name);
    };
    for (const std::string& input : node.input()) op.inputs.push_back(optional(input));
    for (const std::string& output : node.output())
      op.outputs.push_back(optional(output));
    for (const std::string& input : captured(node)) {
      if (!input.empty()) op.captured.push_back(find_read(node, input));
    }
    op.attributes = onnx_detail::take_attributes(node, file_);
    (void)builder_.add_operator(std::move(op));
  }

  void keep_outputs() {
    for (const onnx::ValueInfoProto& output : graph_.output()) {
      const auto tensor = builder_.graph().find_tensor(output.name());
      if (!tensor)
        throw FileError(file_, 0,
                        fmt::format("nothing writes output '{}'", output.name()));
      builder_.keep(*tensor);
    }
  }

  onnx::GraphProto& graph_;
  const OnnxOptions& options_;
  const std::string& file_;
  OperatorGraphBuilder builder_;
  std::unordered_map<std::string, const onnx::TypeProto*> types_;
};

}  // namespace

OperatorGraph read_operator_graph(std::istream& in, const std::string& name,
                                  const OnnxOptions& options) {
  onnx::ModelProto model = parse_model(in, name);
  if (model.graph().node().empty()) throw FileError(name, 0, "holds no operator");
  if (options.batch) onnx_detail::set_batch(model, *options.batch, name);
  onnx_detail::infer_shapes(model, options.dimensions, name);
  return OnnxGraph(model, options, name).build();
}

OperatorGraph read_operator_graph(const std::string& path, const OnnxOptions& options) {
  OperatorGraph graph;
  read_file(path,
            [&](std::istream& in) { graph = read_operator_graph(in, path, options); });
  return graph;
}

}  // namespace espalier
