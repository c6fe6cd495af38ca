// The cases of one subject, which share their models: over 300 lines.
#include "espalier/io/onnx/read_operator_graph.h"

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "espalier/model/error.h"
#include "espalier/model/operator_tasks.h"
#include "support/error_message.h"

namespace espalier {
namespace TEST_SOURCE {

void describe_input(onnx::ValueInfoProto& value, const std::string& name,
                    const std::vector<std::int64_t>& shape) {
  value.set_name(name);
  auto& tensor = *value.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(onnx::TensorProto::FLOAT);
  for (const std::int64_t extent : shape)
    tensor.mutable_shape()->add_dim()->set_dim_value(extent);
}

onnx::NodeProto& add_node(onnx::GraphProto& graph, const std::string& type,
                          const std::vector<std::string>& inputs,
                          const std::string& output) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(type);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

void add_ints(onnx::NodeProto& node, const std::string& name,
              const std::vector<std::int64_t>& values) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) attribute.add_ints(value);
}

// x (1,2,4,4) -> Conv (3,2,3,3), padded -> Reshape to (1,48) -> Relu
onnx::ModelProto small_network() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(13);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("g");
  describe_input(*graph.add_input(), "x", {1, 2, 4, 4});
  onnx::TensorProto& weight = *graph.add_initializer();
  weight.set_name("w");
  weight.set_data_type(onnx::TensorProto::FLOAT);
  for (const int extent : {3, 2, 3, 3}) weight.add_dims(extent);
  for (int i = 0; i < 54; ++i) weight.add_float_data(static_cast<float>(i));
  onnx::TensorProto& target = *graph.add_initializer();
  target.set_name("target");
  target.set_data_type(onnx::TensorProto::INT64);
  target.add_dims(2);
  const std::vector<std::int64_t> shape = {1, 48};
  target.set_raw_data(shape.data(), shape.size() * sizeof(std::int64_t));
  add_ints(add_node(graph, "Conv", {"x", "w"}, "c"), "pads", {1, 1, 1, 1});
  add_node(graph, "Reshape", {"c", "target"}, "r");
  add_node(graph, "Relu", {"r"}, "y");
  graph.add_output()->set_name("y");
  auto& type = *graph.mutable_output(0)->mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  return model;
}

OperatorGraph read(const onnx::ModelProto& model, const OnnxOptions& options = {}) {
  std::istringstream in(model.SerializeAsString());
  return read_operator_graph(in, "m", options);
}

Shape shape_of(const OperatorGraph& graph, const std::string& tensor) {
  return graph.tensor(graph.find_tensor(tensor).value()).shape;
}

TEST(ReadOperatorGraph, KeepsTypesAttributesAndShapes) {
  const OperatorGraph graph = read(small_network());
  ASSERT_EQ(graph.size(), 3U);
  const Operator& conv = graph.op(operator_id(0));
  EXPECT_EQ(conv.type, "Conv");
  EXPECT_EQ(conv.integers("pads"), (std::vector<std::int64_t>{1, 1, 1, 1}));
  EXPECT_EQ(conv.integer("group", 1), 1);
  EXPECT_EQ(conv.input(0), graph.find_tensor("x"));
  EXPECT_FALSE(conv.input(2));
  EXPECT_EQ(graph.operator_set(), 13);
  EXPECT_EQ(shape_of(graph, "c"), (Shape{1, 3, 4, 4}));
  EXPECT_EQ(shape_of(graph, "y"), (Shape{1, 48}));
  EXPECT_EQ(graph.tensor(*graph.find_tensor("x")).role, TensorRole::kInput);
  EXPECT_EQ(graph.tensor(*graph.find_tensor("w")).role, TensorRole::kConstant);
  EXPECT_TRUE(graph.tensor(*graph.find_tensor("y")).kept);
  EXPECT_THROW((void)conv.integer("pads", 0), InvalidInput);
}

TEST(ReadOperatorGraph, KeepsTheValuesOfInitializers) {
  const OperatorGraph graph = read(small_network());
  const Tensor& weight = graph.tensor(*graph.find_tensor("w"));
  const auto values = floats_of(weight.value.value(), weight.type, weight.shape);
  ASSERT_TRUE(values);
  EXPECT_EQ(values->size(), 54U);
  EXPECT_EQ(values->back(), 53.0);
  const Tensor& target = graph.tensor(*graph.find_tensor("target"));
  EXPECT_EQ(integers_of(target.value.value(), target.type, target.shape),
            (std::vector<std::int64_t>{1, 48}));
}

// What reading the weights of the small network says, whose external data have these
// entries.
std::string external_error(
    const std::vector<std::pair<std::string, std::string>>& entries) {
  onnx::ModelProto model = small_network();
  onnx::TensorProto& weight = *model.mutable_graph()->mutable_initializer(0);
  weight.clear_float_data();
  weight.set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] : entries) {
    auto& entry = *weight.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
  const OperatorGraph graph = read(model);
  std::vector<std::byte> bytes(216);
  return support::error_message([&] {
    graph.tensor(*graph.find_tensor("w")).value->read(bytes);
    return 0;
  });
}

TEST(ReadOperatorGraph, SaysWhyExternalDataCannotBeRead) {
  const std::string weights = "m: external data of 'w': ";
  EXPECT_EQ(external_error({}), weights + "they have no location");
  for (const std::string location : {"/w.bin", "../w.bin", "a/../../w.bin"}) {
    EXPECT_EQ(
        external_error({{"location", location}}),
        weights + "the location '" + location + "' is no place in the model's folder");
  }
  for (const std::string offset : {"", "-4", "zz", "1.5", "9223372036854775808"}) {
    EXPECT_EQ(external_error({{"location", "w.bin"}, {"offset", offset}}),
              weights + "the offset '" + offset + "' is no number of bytes");
  }
  for (const std::string length : {"", "215", "217", "x"}) {
    EXPECT_EQ(
        external_error({{"location", "w.bin"}, {"length", length}}),
        weights + "the length '" + length + "' is not that of the tensor, 216 bytes");
  }
  EXPECT_EQ(external_error({{"location", "w.bin"}, {"offset", "8"}, {"length", "216"}}),
            "w.bin: cannot be opened");
}

TEST(ReadOperatorGraph, NamesAValueOfAnotherSize) {
  onnx::ModelProto model = small_network();
  model.mutable_graph()->mutable_initializer(0)->mutable_float_data()->RemoveLast();
  EXPECT_EQ(support::error_message<FileError>([&] { return read(model); }),
            "m: tensor 'w' (3x2x3x3) of 216 bytes has a value of 212 bytes");
}

TEST(ReadOperatorGraph, GivesANetworkAnotherBatch) {
  const OperatorGraph graph = read(small_network(), {.batch = 5});
  EXPECT_EQ(shape_of(graph, "x"), (Shape{5, 2, 4, 4}));
  EXPECT_EQ(shape_of(graph, "c"), (Shape{5, 3, 4, 4}));
  EXPECT_EQ(shape_of(graph, "y"), (Shape{5, 48}));
  EXPECT_EQ(shape_of(graph, "w"), (Shape{3, 2, 3, 3}));
}

// The onnx library infers no shape of it in old models.
TEST(ReadOperatorGraph, KnowsTheMaskOfDropout) {
  onnx::ModelProto model = small_network();
  model.mutable_opset_import(0)->set_version(9);
  onnx::GraphProto& graph = *model.mutable_graph();
  add_node(graph, "Dropout", {"r"}, "d").add_output("mask");
  EXPECT_EQ(shape_of(read(model), "mask"), (Shape{1, 48}));
  graph.add_output()->set_name("mask");
  for (const auto& [set, type] :
       {std::pair(9, ElementType::kFloat32), {10, ElementType::kBool}}) {
    model.mutable_opset_import(0)->set_version(set);
    const OperatorGraph found = read(model);
    EXPECT_EQ(shape_of(found, "mask"), (Shape{1, 48}));
    EXPECT_EQ(found.tensor(*found.find_tensor("mask")).type, type);
  }
}

void add_int(onnx::NodeProto& node, const std::string& name, std::int64_t value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

// x (4,7,6,6) through operators of newer sets than some libraries know.
TEST(ReadOperatorGraph, InfersShapesOfNewerOperators) {
  onnx::ModelProto model = small_network();
  model.mutable_opset_import(0)->set_version(21);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.clear_node();
  graph.clear_input();
  describe_input(*graph.add_input(), "wide", {4, 7, 6, 6});
  onnx::TensorProto& axes = *graph.add_initializer();
  axes.set_name("axes");
  axes.set_data_type(onnx::TensorProto::INT64);
  axes.add_dims(1);
  axes.add_int64_data(-1);
  add_int(add_node(graph, "GroupNormalization", {"wide", "w", "w"}, "norm"), "num_groups",
          7);
  add_node(graph, "Gelu", {"norm"}, "gelu");
  onnx::NodeProto& split = add_node(graph, "Split", {"gelu"}, "part_0");
  split.add_output("part_1");
  split.add_output("part_2");
  add_int(split, "axis", 1);
  add_int(split, "num_outputs", 3);
  add_int(add_node(graph, "ReduceMean", {"part_1", "axes"}, "mean"), "keepdims", 0);
  add_node(graph, "Relu", {"mean"}, "y");
  const OperatorGraph read_graph = read(model);
  EXPECT_EQ(shape_of(read_graph, "norm"), (Shape{4, 7, 6, 6}));
  EXPECT_EQ(shape_of(read_graph, "gelu"), (Shape{4, 7, 6, 6}));
  EXPECT_EQ(shape_of(read_graph, "part_0"), (Shape{4, 3, 6, 6}));
  EXPECT_EQ(shape_of(read_graph, "part_2"), (Shape{4, 1, 6, 6}));
  EXPECT_EQ(shape_of(read_graph, "mean"), (Shape{4, 3, 6}));
  EXPECT_EQ(shape_of(read_graph, "y"), (Shape{4, 3, 6}));
}

onnx::ModelProto network_of_wide(std::int64_t operator_set) {
  onnx::ModelProto model = small_network();
  model.mutable_opset_import(0)->set_version(operator_set);
  model.mutable_graph()->clear_node();
  model.mutable_graph()->clear_input();
  describe_input(*model.mutable_graph()->add_input(), "wide", {4, 2, 6, 1});
  return model;
}

onnx::ModelProto finished(onnx::ModelProto model, const std::string& last) {
  add_node(*model.mutable_graph(), "Relu", {last}, "y");
  return model;
}

// Axes in any order, places from the end and beyond it.
TEST(ReadOperatorGraph, SlicesOfOldOperatorSets) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t set : {7, 9}) {
    onnx::ModelProto model = network_of_wide(set);
    onnx::NodeProto& slice = add_node(*model.mutable_graph(), "Slice", {"wide"}, "s");
    add_ints(slice, "starts", {1, -3, -9});
    add_ints(slice, "ends", {-1, most, 2});
    add_ints(slice, "axes", {-2, 0, 1});
    EXPECT_EQ(shape_of(read(finished(model, "s")), "s"), (Shape{3, 2, 4, 1})) << set;
    slice.mutable_attribute(2)->mutable_ints()->Set(0, 4);
    EXPECT_THROW((void)read(finished(model, "s")), FileError);
  }
}

TEST(ReadOperatorGraph, SqueezesWithoutAxes) {
  for (const std::int64_t set : {7, 11, 13}) {
    onnx::ModelProto model = network_of_wide(set);
    add_node(*model.mutable_graph(), "Squeeze", {"wide"}, "s");
    EXPECT_EQ(shape_of(read(finished(model, "s")), "s"), (Shape{4, 2, 6})) << set;
  }
}

void add_text(onnx::NodeProto& node, const std::string& name, const std::string& value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::STRING);
  attribute.set_s(value);
}

// The onnx library is wrong about these.
TEST(ReadOperatorGraph, WindowsThatArePaddedAlikeAndDilatedMeans) {
  onnx::ModelProto model = network_of_wide(19);
  onnx::GraphProto& graph = *model.mutable_graph();
  for (const std::string type : {"MaxPool", "AveragePool", "ConvTranspose"}) {
    const bool pool = type != "ConvTranspose";
    onnx::NodeProto& node = add_node(graph, type,
                                     pool ? std::vector<std::string>{"wide"}
                                          : std::vector<std::string>{"wide", "turned"},
                                     type);
    add_text(node, "auto_pad", "SAME_LOWER");
    add_ints(node, "strides", {5, 2});
    if (pool) add_int(node, "ceil_mode", 1);
    if (pool) add_ints(node, "kernel_shape", {3, 3});
  }
  onnx::TensorProto& turned = *graph.add_initializer();
  turned = graph.initializer(0);
  turned.set_name("turned");
  turned.set_dims(0, 2);
  turned.set_dims(1, 3);
  add_ints(add_node(graph, "AveragePool", {"wide"}, "dilated"), "kernel_shape", {2, 1});
  add_ints(*graph.mutable_node(3), "dilations", {3, 1});
  const OperatorGraph found = read(finished(model, "dilated"));
  EXPECT_EQ(shape_of(found, "MaxPool"), (Shape{4, 2, 2, 1}));
  EXPECT_EQ(shape_of(found, "AveragePool"), (Shape{4, 2, 2, 1}));
  EXPECT_EQ(shape_of(found, "ConvTranspose"), (Shape{4, 3, 30, 2}));
  EXPECT_EQ(shape_of(found, "dilated"), (Shape{4, 2, 3, 1}));
}

// The windows of ceil_mode that would begin in the padding behind the input are none
// (ONNX since 1.16, PyTorch always), and the dilations of LpPool count.
TEST(ReadOperatorGraph, WindowsBehindTheInputAndDilatedNorms) {
  onnx::ModelProto model = network_of_wide(18);
  onnx::GraphProto& graph = *model.mutable_graph();
  for (const std::string type : {"MaxPool", "AveragePool", "LpPool"}) {
    onnx::NodeProto& node = add_node(graph, type, {"wide"}, type);
    add_ints(node, "kernel_shape", {2, 1});
    add_ints(node, "strides", {5, 1});
    add_ints(node, "pads", {1, 0, 2, 0});
    add_int(node, "ceil_mode", 1);
  }
  onnx::NodeProto& node = add_node(graph, "LpPool", {"wide"}, "dilated");
  add_ints(node, "kernel_shape", {2, 1});
  add_ints(node, "dilations", {3, 1});
  const OperatorGraph found = read(finished(model, "dilated"));
  const Shape wide = shape_of(found, "wide");
  ASSERT_EQ(wide[2], 6);  // from -1 and 4; the next would begin at 9
  for (const std::string type : {"MaxPool", "AveragePool", "LpPool"})
    EXPECT_EQ(shape_of(found, type), (Shape{wide[0], wide[1], 2, wide[3]})) << type;
  EXPECT_EQ(shape_of(found, "dilated"), (Shape{wide[0], wide[1], 3, wide[3]}));
}

TEST(ReadOperatorGraph, OperatorsOfNewerSetsHaveTheShapeOfTheirInput) {
  for (const auto& [type, set] : {std::pair{"Mish", 18},
                                  {"BitwiseNot", 18},
                                  {"BitwiseXor", 18},
                                  {"RMSNormalization", 23},
                                  {"RotaryEmbedding", 23},
                                  {"TensorScatter", 24}}) {
    onnx::ModelProto model = network_of_wide(set);
    add_node(*model.mutable_graph(), type, {"wide", "wide", "wide"}, "s");
    const OperatorGraph found = read(finished(model, "s"));
    EXPECT_EQ(shape_of(found, "s"), shape_of(found, "wide")) << type;
  }
}

// The onnx library would divide by it.
TEST(ReadOperatorGraph, NamesAWindowThatStandsStill) {
  onnx::ModelProto model = small_network();
  onnx::NodeProto& conv = *model.mutable_graph()->mutable_node(0);
  conv.set_name("conv");
  add_ints(conv, "strides", {1, 0});
  try {
    (void)read(model);
    FAIL() << "it was read";
  } catch (const FileError& error) {
    EXPECT_EQ(std::string(error.what()),
              "m: operator 'conv' (Conv): its strides are 1, 0, and none may be 0");
  }
}

TEST(ReadOperatorGraph, IsTheSameQuestionOfMemoryAsTheGraphOfTasks) {
  const onnx::ModelProto model = small_network();
  const OperatorTasks tasks = task_graph_of(read(model));
  std::istringstream in(model.SerializeAsString());
  const TaskGraph graph = read_graph_onnx(in, "m");
  ASSERT_EQ(tasks.graph.data(), graph.data());
  for (std::size_t i = 0; i < graph.data(); ++i) {
    EXPECT_EQ(tasks.graph.name(datum_id(i)), graph.name(datum_id(i)));
    EXPECT_EQ(tasks.graph.size(datum_id(i)), graph.size(datum_id(i)));
  }
  EXPECT_EQ(graph.initial_bytes(), 2 * 16 * 4 + 54 * 4 + 16);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
