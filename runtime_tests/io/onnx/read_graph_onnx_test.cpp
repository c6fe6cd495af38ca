// The cases of one subject, which share their instances: over 300 lines.

#include "espalier/io/onnx/read_graph_onnx.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <csignal>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "espalier/io/onnx/child_process.h"
#include "espalier/model/error.h"
#include "support/describe_graph.h"
#include "support/error_message.h"

namespace espalier {
namespace TEST_SOURCE {

using support::describe_named;
using Names = std::vector<std::string>;
// A dimension: a number, or the name of one that is open ("": without a name).
using Shape = std::vector<std::string>;

constexpr int kFloat = onnx::TensorProto::FLOAT;

void set_type(onnx::ValueInfoProto& value, const std::string& name, const Shape& shape,
              int type) {
  value.set_name(name);
  auto& tensor = *value.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  tensor.mutable_shape();
  for (const std::string& text : shape) {
    auto& dimension = *tensor.mutable_shape()->add_dim();
    if (text.empty()) continue;
    if (text.find_first_not_of("-0123456789") == std::string::npos) {
      dimension.set_dim_value(std::stoll(text));
    } else {
      dimension.set_dim_param(text);
    }
  }
}

// A model that is put together in a test.
class Model {
 public:
  Model() {
    model_.set_ir_version(8);
    model_.add_opset_import()->set_version(16);
    graph().set_name("g");
  }
  onnx::ModelProto& proto() { return model_; }
  onnx::GraphProto& graph() { return *model_.mutable_graph(); }
  void input(const std::string& name, const Shape& shape, int type = kFloat) {
    set_type(*graph().add_input(), name, shape, type);
  }
  void output(const std::string& name) {  // a type without a shape
    auto& value = *graph().add_output();
    value.set_name(name);
    value.mutable_type()->mutable_tensor_type()->set_elem_type(kFloat);
  }
  onnx::TensorProto& weight(const std::string& name, const std::vector<int>& shape,
                            int type = kFloat) {
    onnx::TensorProto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    for (const int dimension : shape) tensor.add_dims(dimension);
    return tensor;
  }
  onnx::NodeProto& node(const std::string& type, const Names& inputs,
                        const Names& outputs, const std::string& name = "") {
    onnx::NodeProto& node = *graph().add_node();
    node.set_op_type(type);
    node.set_name(name);
    for (const std::string& each : inputs) node.add_input(each);
    for (const std::string& each : outputs) node.add_output(each);
    return node;
  }

 private:
  onnx::ModelProto model_;
};

TaskGraph read_bytes(const std::string& bytes, const OnnxOptions& options = {}) {
  std::istringstream in(bytes);
  return read_graph_onnx(in, "m", options);
}

TaskGraph read(Model& model, const OnnxOptions& options = {}) {
  return read_bytes(model.proto().SerializeAsString(), options);
}

std::string error_of(const auto& action) {
  return support::error_message<FileError>(action);
}

std::string error_of(Model& model, const OnnxOptions& options = {}) {
  return error_of([&] { return read(model, options); });
}

// input x -> MatMul with weight w -> Relu -> output
Model perceptron(const std::string& batch) {
  Model model;
  model.input("x", {batch, "10"});
  model.weight("w", {10, 4});
  model.node("MatMul", {"x", "w"}, {"y"}, "multiply");
  model.node("Relu", {"y"}, {"z"});
  model.output("z");
  return model;
}

TEST(ReadGraphOnnx, InfersTheSizesOfAllTensors) {
  Model model = perceptron("2");
  EXPECT_EQ(describe_named(read(model)),
            "w 160 kept\nx 80\ny 32\nz 32 kept\n"
            "multiply 0 0: x w -> y\nRelu_1 0 0: y -> z\n");
  EXPECT_EQ(
      describe_named(read(model, {.dimensions = {}, .keep_weights = false})).substr(0, 6),
      "w 160\n");
}

TEST(ReadGraphOnnx, SetsOpenDimensions) {
  Model model = perceptron("batch");
  EXPECT_EQ(error_of(model),
            "m: input 'x': its dimension 0, 'batch', is not known; give it with --dim "
            "batch=N");
  EXPECT_EQ(describe_named(read(model, {.dimensions = {{"batch", 8}}})).substr(0, 27),
            "w 160 kept\nx 320\ny 128\nz 12");
  EXPECT_EQ(read(model, {.dimensions = {{"batch", 0}}}).size(datum_id(1)), 0);
  EXPECT_EQ(error_of(model, {.dimensions = {{"batsch", 8}}}),
            "m: no open dimension is 'batsch'; named are: batch");
  EXPECT_EQ(error_of(model, {.dimensions = {{"batch", 8}, {"batsch", 8}}}),
            "m: no open dimension is 'batsch'; named are: batch");
}

TEST(ReadGraphOnnx, SetsOpenDimensionsWithoutAName) {
  for (const char* open : {"", "-1"}) {
    Model model = perceptron(open);
    EXPECT_EQ(error_of(model).substr(0, 79),
              "m: input 'x': its dimension 0 is not known; give it with --dim x:0=N");
    EXPECT_EQ(read(model, {.dimensions = {{"x:0", 8}}}).size(datum_id(3)), 128);
    EXPECT_EQ(error_of(model, {.dimensions = {{"x:1", 8}}}),
              "m: no open dimension is 'x:1'; none has a name");
  }
}

TEST(ReadGraphOnnx, SetsDimensionsThatOnlyTheInferenceFinds) {
  Model model;
  model.input("x", {"6"});
  model.node("NonZero", {"x"}, {"where"}, "find");
  model.node("Cast", {"where"}, {"y"}).add_attribute()->set_name("to");
  auto& to = *model.graph().mutable_node(1)->mutable_attribute(0);
  to.set_type(onnx::AttributeProto::INT);
  to.set_i(kFloat);
  model.output("y");
  EXPECT_EQ(error_of(model),
            "m: output 'where' of operator 'find' (NonZero): its dimension 1 is not "
            "known; give it with --dim where:1=N");
  EXPECT_EQ(describe_named(read(model, {.dimensions = {{"where:1", 5}}})),
            "x 24\nwhere 40\ny 20 kept\nfind 0 0: x -> where\nCast_1 0 0: where -> y\n");
}

TEST(ReadGraphOnnx, FollowsShapesThatTheModelComputes) {
  Model
      model;  // y = Reshape(x, Concat(Gather(Shape(x), 0), [-1])), as exporters write it
  model.input("x", {"n", "3", "5"});
  model.weight("zero", {1}, onnx::TensorProto::INT64).add_int64_data(0);
  model.weight("rest", {1}, onnx::TensorProto::INT64).add_int64_data(-1);
  model.node("Shape", {"x"}, {"s"});
  model.node("Gather", {"s", "zero"}, {"first"});
  auto& axis = *model.node("Concat", {"first", "rest"}, {"t"}).add_attribute();
  axis.set_name("axis");
  axis.set_type(onnx::AttributeProto::INT);
  axis.set_i(0);
  model.node("Reshape", {"x", "t"}, {"y"});
  model.output("y");
  const TaskGraph graph = read(model, {.dimensions = {{"n", 7}}});
  EXPECT_EQ(graph.size(datum_id(graph.data() - 1)), 7 * 15 * 4);
}

TEST(ReadGraphOnnx, TakesConstantsAsDataFromTheStart) {
  Model model;
  model.input("x", {"4"});
  auto& value = *model.node("Constant", {}, {"c"}).add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  value.mutable_t()->set_data_type(kFloat);
  value.mutable_t()->add_dims(4);
  for (int i = 0; i < 4; ++i) value.mutable_t()->add_float_data(1);
  model.node("Add", {"x", "c"}, {"y"});
  model.output("y");
  EXPECT_EQ(describe_named(read(model)),
            "x 16\nc 16 kept\ny 16 kept\nAdd_1 0 0: x c -> y\n");
}

TEST(ReadGraphOnnx, TakesOperatorsWithGraphsInsideAsOne) {
  Model model;
  model.input("if", {}, onnx::TensorProto::BOOL);
  model.input("x", {"4"});
  model.weight("w", {4});
  auto& choice = model.node("If", {"if"}, {"y"}, "choose");
  for (const char* branch : {"then_branch", "else_branch"}) {
    auto& attribute = *choice.add_attribute();
    attribute.set_name(branch);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    onnx::GraphProto& graph = *attribute.mutable_g();
    graph.set_name(branch);
    auto& inside = *graph.add_node();
    inside.set_op_type("Mul");
    inside.add_input("x");
    inside.add_input(branch == std::string("then_branch") ? "w" : "x");
    inside.add_output(branch + std::string("_y"));
    auto& output = *graph.add_output();
    output.set_name(inside.output(0));
    output.mutable_type()->mutable_tensor_type()->set_elem_type(kFloat);
  }
  model.output("y");
  EXPECT_EQ(describe_named(read(model)),
            "w 16 kept\nif 1\nx 16\ny 16 kept\nchoose 0 0: if x w -> y\n");
}

TEST(ReadGraphOnnx, CountsElementsOfEveryType) {
  const auto bytes = [](int type) {
    Model model;
    model.weight("w", {3, 3}, type);
    model.input("x", {"1"});
    model.node("Relu", {"x"}, {"y"});
    model.output("y");
    return read(model).size(datum_id(0));
  };
  const std::vector<Bytes> expected = {36, 9,  9,   18, 18, 36, 72, -1, 9, 18, 72, 36,
                                       72, 72, 144, 18, 9,  9,  9,  9,  5, 5,  5};
  for (int type = 1; type <= 23; ++type) {
    if (type == onnx::TensorProto::STRING) continue;
    EXPECT_EQ(bytes(type), expected[static_cast<std::size_t>(type) - 1]) << type;
  }
  EXPECT_EQ(error_of([&] { return bytes(onnx::TensorProto::STRING); }),
            "m: initializer 'w': its elements are strings, which have no size");
  EXPECT_EQ(error_of([&] { return bytes(99); }),
            "m: initializer 'w': its type of elements, 99, is not known");
}

TEST(ReadGraphOnnx, NeedsNoExternalData) {
  Model model = perceptron("2");
  onnx::TensorProto& weight = *model.graph().mutable_initializer(0);
  weight.set_data_location(onnx::TensorProto::EXTERNAL);
  auto& place = *weight.add_external_data();
  place.set_key("location");
  place.set_value("nowhere.bin");
  EXPECT_EQ(read(model).size(datum_id(0)), 160);
}

TEST(ReadGraphOnnx, TakesSparseInitializersAndInitializersThatAreInputs) {
  Model model = perceptron("2");
  model.input("w", {"10", "4"});
  auto& sparse = *model.graph().add_sparse_initializer();
  sparse.mutable_values()->set_name("s");
  sparse.mutable_values()->set_data_type(kFloat);
  sparse.mutable_values()->add_dims(3);
  sparse.mutable_indices()->set_data_type(onnx::TensorProto::INT64);
  sparse.mutable_indices()->add_dims(3);
  sparse.add_dims(100);
  EXPECT_EQ(describe_named(read(model)).substr(0, 26), "w 160 kept\ns 36 kept\nx 80\n");
}

TEST(ReadGraphOnnx, GivesOperatorsNamesOfTheirOwn) {
  Model model;
  model.input("x", {"1"});
  model.node("Relu", {"x"}, {"a"}, "Relu_1");
  model.node("Relu", {"a"}, {"b"});
  model.node("Relu", {"b"}, {"c"}, "Relu_1");
  model.output("c");
  const TaskGraph graph = read(model);
  EXPECT_EQ(graph.name(task_id(0)), "Relu_1");
  EXPECT_EQ(graph.name(task_id(1)), "Relu_1_1");
  EXPECT_EQ(graph.name(task_id(2)), "Relu_1_2");
}

TEST(ReadGraphOnnx, SkipsWhatIsLeftOut) {
  Model model;
  model.input("x", {"8"});
  model.weight("most", {});
  model.node("Clip", {"x", "", "most"}, {"y"});
  model.node("Dropout", {"y"}, {"z", ""});
  model.output("z");
  EXPECT_EQ(describe_named(read(model)),
            "most 4 kept\nx 32\ny 32\nz 32 kept\nClip_0 0 0: x most -> y\n"
            "Dropout_1 0 0: y -> z\n");
}

TEST(ReadGraphOnnx, NamesWhatIsWrongWithAModel) {
  Model unknown;
  unknown.input("x", {"1"});
  unknown.node("Frobnicate", {"x"}, {"y"}, "f");
  unknown.output("y");
  EXPECT_EQ(error_of(unknown),
            "m: output 'y' of operator 'f' (Frobnicate): its shape is not known");

  Model dangling = perceptron("2");
  dangling.node("Relu", {"nowhere"}, {"r"}, "r");
  set_type(*dangling.graph().add_value_info(), "r", {"1"}, kFloat);
  EXPECT_EQ(error_of(dangling),
            "m: operator 'r' (Relu) reads tensor 'nowhere', which nothing writes");

  Model twice = perceptron("2");
  twice.node("Relu", {"y"}, {"z"});
  EXPECT_EQ(error_of(twice), "m: two tensors have the name 'z'");

  Model no_output = perceptron("2");
  no_output.output("nowhere");
  EXPECT_EQ(error_of(no_output), "m: nothing writes output 'nowhere'");

  Model sequence = perceptron("2");
  auto& value = *sequence.graph().add_input();
  value.set_name("s");
  value.mutable_type()->mutable_sequence_type();
  EXPECT_EQ(error_of(sequence),
            "m: input 's': it is not a dense tensor, and has no size");

  Model cycle;
  cycle.input("x", {"1"});
  cycle.node("Add", {"x", "b"}, {"a"}, "one");
  cycle.node("Relu", {"a"}, {"b"}, "two");
  for (const char* name : {"a", "b"})
    set_type(*cycle.graph().add_value_info(), name, {"1"}, kFloat);
  EXPECT_EQ(error_of(cycle),
            "m: operator 'one' waits for its own output: the graph has a cycle");
}

// The library's propagation of data ends in a null pointer here.
TEST(ReadGraphOnnx, NamesTheUnknownTensorWhoseShapeTheModelComputesWith) {
  Model model;
  model.input("x", {"1"});
  model.node("Frobnicate", {"x"}, {"y"}, "f");
  model.node("Shape", {"y"}, {"s"});
  model.node("Reshape", {"x", "s"}, {"z"});
  model.output("z");
  EXPECT_EQ(error_of(model),
            "m: output 'y' of operator 'f' (Frobnicate): its shape is not known");
}

TEST(ReadGraphOnnx, RefusesSizesBeyondTheRange) {
  Model size = perceptron("9223372036854775807");
  EXPECT_EQ(error_of(size), "m: input 'x': its size leaves the 64-bit range");
  Model sum = perceptron("115292150460684697");
  sum.input("x2", {"115292150460684697", "10"});
  sum.input("x3", {"115292150460684697", "10"});
  EXPECT_EQ(error_of(sum).substr(0, 2), "m:");
  Model nothing = perceptron("9223372036854775807");
  nothing.input("x2", {"9223372036854775807", "9223372036854775807", "0"});
  EXPECT_EQ(error_of(nothing), "m: input 'x': its size leaves the 64-bit range");
}

TEST(ReadGraphOnnx, RefusesWhatIsNoModel) {
  const auto error = [](const std::string& bytes) {
    return error_of([&] { return read_bytes(bytes); });
  };
  EXPECT_EQ(error(""), "m: is empty");
  EXPECT_EQ(error("{\"tensors\": {}}"), "m: is not an ONNX model, or is cut off");
  EXPECT_EQ(error(onnx::ModelProto().SerializeAsString() + "\x08\x08"),
            "m: is an ONNX model without a graph");
  Model empty;
  EXPECT_EQ(error_of(empty), "m: holds no operator");
  const std::string whole = perceptron("2").proto().SerializeAsString();
  for (std::size_t length = 0; length + 1 < whole.size(); ++length)
    EXPECT_NE(error(whole.substr(0, length)), "no error") << length;
  EXPECT_THROW((void)read_graph_onnx("/nonexistent/model.onnx"), FileError);
  EXPECT_THROW((void)read_graph_onnx("/"), FileError);
}

TEST(RunInChild, AnswersWithTheResultTheErrorOrTheSignal) {
  using onnx_detail::run_in_child;
  const std::string large(1 << 20, 'x');
  EXPECT_EQ(run_in_child([&large] { return large; }).value(), large);
  EXPECT_EQ(run_in_child([] { return std::string(); }).value(), "");
  const auto thrown =
      run_in_child([]() -> std::string { throw std::runtime_error("no"); });
  EXPECT_EQ(thrown.error(), "no");
  const auto killed = run_in_child([]() -> std::string {
    raise(SIGSEGV);
    return "";
  });
  EXPECT_EQ(killed.error(), fmt::format("the onnx library ended by signal {}", SIGSEGV));
}

TEST(ReadGraphOnnx, ReadsLongChains) {
  Model model;
  model.input("x0", {"16"});
  for (int i = 0; i < 10'000; ++i)
    model.node("Relu", {fmt::format("x{}", i)}, {fmt::format("x{}", i + 1)});
  model.output("x10000");
  EXPECT_EQ(read(model).size(), 10'000);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
