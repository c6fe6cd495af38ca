#include "espalier/io/onnx/read_graph_onnx.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include <istream>
#include <limits>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "espalier/io/onnx/infer_shapes.h"
#include "espalier/io/onnx/tensor_size.h"
#include "espalier/io/text_file.h"
#include "espalier/model/error.h"
#include "espalier/model/graph_builder.h"

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

// The graph of a model whose shapes have been inferred.
class OnnxGraph {
 public:
  OnnxGraph(const onnx::GraphProto& graph, const OnnxOptions& options,
            const std::string& file)
      : graph_(graph), options_(options), file_(file) {
    for (const auto* values : {&graph.input(), &graph.output(), &graph.value_info()}) {
      for (const onnx::ValueInfoProto& value : *values)
        types_.emplace(value.name(), &value.type());
    }
  }

  TaskGraph build() {
    try {
      add_initializers();
      add_inputs();
      add_operators();
      add_reads();
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

  Bytes size_by_type(const std::string& what, const std::string& tensor) const {
    return size(what, [&]() -> Size {
      const auto type = types_.find(tensor);
      if (type == types_.end())
        return tl::unexpected<std::string>("its shape is not known");
      return onnx_detail::size_of(*type->second, tensor);
    });
  }

  void add_from_start(const std::string& name, Bytes bytes, bool weight) {
    if (builder_.find_datum(name))
      throw FileError(file_, 0, fmt::format("two tensors have the name '{}'", name));
    const DatumId datum = builder_.add_datum(name, bytes);
    if (weight && options_.keep_weights) builder_.keep(datum);
  }

  void add_initializers() {
    for (const onnx::TensorProto& tensor : graph_.initializer()) {
      const std::string what = fmt::format("initializer '{}'", tensor.name());
      add_from_start(tensor.name(),
                     size(what, [&] { return onnx_detail::size_of(tensor); }), true);
    }
    for (const onnx::SparseTensorProto& tensor : graph_.sparse_initializer()) {
      const std::string& name = tensor.values().name();
      const std::string what = fmt::format("sparse initializer '{}'", name);
      add_from_start(name, size(what, [&] { return onnx_detail::size_of(tensor); }),
                     true);
    }
  }

  // Older models list initializers among the inputs.
  void add_inputs() {
    const std::size_t initializers = static_cast<std::size_t>(
        graph_.initializer_size() + graph_.sparse_initializer_size());
    for (const onnx::ValueInfoProto& input : graph_.input()) {
      const auto known = builder_.find_datum(input.name());
      if (known && index(*known) < initializers) continue;
      add_from_start(input.name(),
                     size_by_type(fmt::format("input '{}'", input.name()), input.name()),
                     false);
    }
  }

  TaskId add_operator(const onnx::NodeProto& node, int number) {
    std::string name = node.name();
    if (name.empty()) name = fmt::format("{}_{}", node.op_type(), number);
    while (builder_.find_task(name)) name += fmt::format("_{}", number);
    return builder_.add_task(name);
  }

  void add_operators() {
    for (int i = 0; i < graph_.node_size(); ++i) {
      const onnx::NodeProto& node = graph_.node(i);
      std::optional<TaskId> task;
      if (!is_constant(node)) task = add_operator(node, i);
      tasks_.push_back(task);
      for (const std::string& output : node.output()) {
        if (output.empty()) continue;  // optional, left out
        const std::string what = fmt::format("output '{}' of operator '{}' ({})", output,
                                             node.name(), node.op_type());
        add_from_start(output, size_by_type(what, output), !task);
        if (task) builder_.writes(*task, *builder_.find_datum(output));
      }
    }
  }

  void add_read(const onnx::NodeProto& node, TaskId task, const std::string& tensor) {
    if (tensor.empty()) return;  // optional, left out
    const auto datum = builder_.find_datum(tensor);
    if (!datum)
      throw FileError(file_, 0,
                      fmt::format("operator '{}' ({}) reads tensor '{}', which nothing "
                                  "writes",
                                  node.name(), node.op_type(), tensor));
    builder_.reads(task, *datum);
  }

  void add_reads() {
    for (int i = 0; i < graph_.node_size(); ++i) {
      const onnx::NodeProto& node = graph_.node(i);
      const std::optional<TaskId> task = tasks_[static_cast<std::size_t>(i)];
      if (!task) continue;
      for (const std::string& input : node.input()) add_read(node, *task, input);
      for (const std::string& input : captured(node)) add_read(node, *task, input);
    }
  }

  void keep_outputs() {
    for (const onnx::ValueInfoProto& output : graph_.output()) {
      const auto datum = builder_.find_datum(output.name());
      if (!datum)
        throw FileError(file_, 0,
                        fmt::format("nothing writes output '{}'", output.name()));
      builder_.keep(*datum);
    }
  }

  const onnx::GraphProto& graph_;
  const OnnxOptions& options_;
  const std::string& file_;
  TaskGraphBuilder builder_;
  std::unordered_map<std::string, const onnx::TypeProto*> types_;
  std::vector<std::optional<TaskId>> tasks_;  // by node; none: a constant
};

}  // namespace

TaskGraph read_graph_onnx(std::istream& in, const std::string& name,
                          const OnnxOptions& options) {
  onnx::ModelProto model = parse_model(in, name);
  if (model.graph().node().empty()) throw FileError(name, 0, "holds no operator");
  onnx_detail::infer_shapes(model, options.dimensions, name);
  return OnnxGraph(model.graph(), options, name).build();
}

TaskGraph read_graph_onnx(const std::string& path, const OnnxOptions& options) {
  TaskGraph graph;
  read_file(path, [&](std::istream& in) { graph = read_graph_onnx(in, path, options); });
  return graph;
}

}  // namespace espalier
