#include <onnx/onnx_pb.h>

#include <algorithm>
#include <sstream>

#include "espalier/io/onnx/read_operator_graph.h"
#include "espalier/model/operator_tasks.h"
#include "espalier/model/replay_graph.h"
#include "espalier/training/fold_constants.h"
#include "espalier/training/training_graph.h"
#include "fuzz/fuzz_target.h"

namespace espalier::fuzz {
namespace {

void run(std::string_view bytes) {
  std::istringstream in{std::string(bytes)};
  const OperatorGraph model =
      read_operator_graph(in, "m", {.dimensions = {{"n", 3}}, .keep_weights = false});
  const TaskGraph graph = task_graph_of(model).graph;
  const Bytes peak = replay(graph, graph.topological_order()).peak;
  require(peak >= graph.initial_bytes() && peak >= graph.final_bytes(),
          "the peak is at least what is there at both ends");
  const TrainingGraph step = training_graph(fold_constants(model));
  require(std::ranges::is_sorted(task_graph_of(step.graph).graph.topological_order()),
          "a training step is in an order");
}

void add_value(onnx::ValueInfoProto& value, const char* name) {
  value.set_name(name);
  auto& tensor = *value.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(onnx::TensorProto::FLOAT);
  tensor.mutable_shape()->add_dim()->set_dim_param("n");
  tensor.mutable_shape()->add_dim()->set_dim_value(4);
}

onnx::NodeProto& add_node(onnx::GraphProto& graph, const char* type, const char* first,
                          const char* second, const char* output) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(type);
  node.set_name(output);
  node.add_input(first);
  if (*second != '\0') node.add_input(second);
  node.add_output(output);
  return node;
}

// A product with weights, its activation and an If that takes one of both.
std::vector<std::string> seeds() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(16);
  onnx::GraphProto& graph = *model.mutable_graph();
  add_value(*graph.add_input(), "x");
  onnx::TensorProto& weight = *graph.add_initializer();
  weight.set_name("w");
  weight.set_data_type(onnx::TensorProto::FLOAT);
  weight.add_dims(4);
  weight.add_dims(4);
  add_node(graph, "MatMul", "x", "w", "y");
  add_node(graph, "Relu", "y", "", "z");
  add_value(*graph.add_output(), "z");
  std::vector<std::string> files = {model.SerializeAsString()};

  add_node(graph, "Shape", "z", "", "s");
  add_node(graph, "Reshape", "x", "s", "r");
  onnx::TensorProto& condition = *graph.add_initializer();
  condition.set_name("c");
  condition.set_data_type(onnx::TensorProto::BOOL);
  onnx::NodeProto& choice = add_node(graph, "If", "c", "", "i");
  for (const char* branch : {"then_branch", "else_branch"}) {
    onnx::AttributeProto& attribute = *choice.add_attribute();
    attribute.set_name(branch);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    add_node(*attribute.mutable_g(), "Add", "y", "z", branch);
    add_value(*attribute.mutable_g()->add_output(), branch);
  }
  add_value(*graph.add_output(), "i");
  files.push_back(model.SerializeAsString());
  return files;
}

std::vector<std::string_view> words() {
  return {"Relu",     "MatMul",
          "Conv",     "Constant",
          "Loop",     "Scan",
          "Concat",   "x",
          "y",        "z",
          "w",        "\x0a\x01",
          "\x12\x01", "\xff\xff\xff\xff\xff\xff\xff\xff\x7f"};
}

}  // namespace

// Few: each is a process.
Target graph_onnx_target() { return {"graph_onnx", seeds, words, run, 400}; }

}  // namespace espalier::fuzz
