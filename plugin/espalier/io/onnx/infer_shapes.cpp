#include "espalier/io/onnx/infer_shapes.h"

#include <fmt/format.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "espalier/io/onnx/child_process.h"
#include "espalier/io/onnx/newer_schemas.h"
#include "espalier/model/error.h"

namespace espalier::onnx_detail {
namespace {

using OnnxShape = onnx::TensorShapeProto;

// "boxes:1" as tensor and axis.
std::optional<std::pair<std::string_view, int>> tensor_and_axis(std::string_view name) {
  const std::size_t colon = name.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const char* end = name.data() + name.size();
  int axis = 0;
  const auto [stop, error] = std::from_chars(name.data() + colon + 1, end, axis);
  if (error != std::errc() || stop != end || axis < 0) return std::nullopt;
  return std::pair(name.substr(0, colon), axis);
}

// Calls visit(name, shape) with the shape of every tensor that the model describes, at
// the top level and in graphs inside nodes.
template <class Visit>
void for_each_shape(onnx::ModelProto& model, const Visit& visit) {
  std::vector<onnx::GraphProto*> graphs = {model.mutable_graph()};
  const auto visit_all = [&visit](auto* values) {
    for (onnx::ValueInfoProto& value : *values) {
      if (value.type().tensor_type().has_shape())
        visit(value.name(),
              *value.mutable_type()->mutable_tensor_type()->mutable_shape());
    }
  };
  while (!graphs.empty()) {
    onnx::GraphProto& graph = *graphs.back();
    graphs.pop_back();
    visit_all(graph.mutable_input());
    visit_all(graph.mutable_output());
    visit_all(graph.mutable_value_info());
    for (onnx::NodeProto& node : *graph.mutable_node()) {
      for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
        if (attribute.has_g()) graphs.push_back(attribute.mutable_g());
        for (onnx::GraphProto& inside : *attribute.mutable_graphs())
          graphs.push_back(&inside);
      }
    }
  }
}

// Gives a value to the dimensions of that name. False: there is none.
bool set_by_name(onnx::ModelProto& model, const std::string& name, std::int64_t value) {
  bool found = false;
  for_each_shape(model, [&](const std::string&, OnnxShape& shape) {
    for (OnnxShape::Dimension& dimension : *shape.mutable_dim()) {
      if (!dimension.has_dim_param() || dimension.dim_param() != name) continue;
      dimension.set_dim_value(value);
      found = true;
    }
  });
  return found;
}

// The same for one dimension of one tensor, if it is open.
bool set_by_axis(onnx::ModelProto& model, const std::string& name, std::int64_t value) {
  const auto place = tensor_and_axis(name);
  if (!place) return false;
  bool found = false;
  for_each_shape(model, [&](const std::string& tensor, OnnxShape& shape) {
    if (tensor != place->first || place->second >= shape.dim_size()) return;
    OnnxShape::Dimension& dimension = *shape.mutable_dim(place->second);
    if (dimension.has_dim_value() && dimension.dim_value() >= 0) return;
    dimension.set_dim_value(value);
    found = true;
  });
  return found;
}

// What an exporter may write for "not known" is left open.
void forget_negative_dimensions(onnx::ModelProto& model) {
  for_each_shape(model, [](const std::string&, OnnxShape& shape) {
    for (OnnxShape::Dimension& dimension : *shape.mutable_dim()) {
      if (dimension.dim_value() < 0) dimension.clear_dim_value();
    }
  });
}

// The onnx library divides by strides.
void refuse_standing_windows(const onnx::ModelProto& model, const std::string& file) {
  for (const onnx::NodeProto& node : model.graph().node())
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.name() != "strides") continue;
      if (std::ranges::find(attribute.ints(), 0) != attribute.ints().end())
        throw FileError(
            file, 0,
            fmt::format("operator '{}' ({}): its strides are {}, and none may "
                        "be 0",
                        node.name(), node.op_type(), fmt::join(attribute.ints(), ", ")));
    }
}

// The graph of the model with the shapes that the onnx library finds, and without what it
// computes and its weights. `follow`: through values that the model computes, too.
std::string graph_with_shapes(onnx::ModelProto& model, bool follow) {
  const onnx::ShapeInferenceOptions options(false, 0, follow);
  std::unordered_map<std::string, OnnxShape> values;
  onnx::shape_inference::InferShapes(model, &schemas(), options, &values);
  model.mutable_graph()->clear_node();
  model.mutable_graph()->clear_initializer();
  model.mutable_graph()->clear_sparse_initializer();
  return model.graph().SerializeAsString();
}

// Takes the shapes into the model. The library crashes on some models, hence the child:
// where a value is computed from a tensor of unknown type, and on some that are no
// models.
void infer(onnx::ModelProto& model, const std::string& file) {
  auto answer = run_in_child([&model] { return graph_with_shapes(model, true); });
  if (!answer)
    answer = run_in_child([&model] { return graph_with_shapes(model, false); });
  if (!answer)
    throw FileError(file, 0, fmt::format("shape inference: {}", answer.error()));
  onnx::GraphProto found;
  if (!found.ParseFromString(*answer))
    throw FileError(file, 0, "shape inference: the answer cannot be read");
  model.mutable_graph()->mutable_input()->Swap(found.mutable_input());
  model.mutable_graph()->mutable_output()->Swap(found.mutable_output());
  model.mutable_graph()->mutable_value_info()->Swap(found.mutable_value_info());
}

std::set<std::string> names_of_dimensions(onnx::ModelProto& model) {
  std::set<std::string> known;
  for_each_shape(model, [&known](const std::string&, OnnxShape& shape) {
    for (const OnnxShape::Dimension& dimension : shape.dim()) {
      if (has_own_name(dimension)) known.insert(dimension.dim_param());
    }
  });
  return known;
}

[[noreturn]] void refuse_dimension(const std::set<std::string>& known,
                                   const std::string& name, const std::string& file) {
  throw FileError(
      file, 0,
      fmt::format("no open dimension is '{}'; {}", name,
                  known.empty() ? std::string("none has a name")
                                : fmt::format("named are: {}", fmt::join(known, ", "))));
}

}  // namespace

bool has_own_name(const OnnxShape::Dimension& dimension) {
  return !dimension.dim_param().empty() && !dimension.dim_param().starts_with("unk__");
}

void infer_shapes(onnx::ModelProto& model,
                  const std::map<std::string, std::int64_t>& dimensions,
                  const std::string& file) {
  forget_negative_dimensions(model);
  refuse_standing_windows(model, file);
  const std::set<std::string> names = names_of_dimensions(model);
  std::map<std::string, std::int64_t> left;
  for (const auto& [name, value] : dimensions) {
    if (!set_by_name(model, name, value) && !set_by_axis(model, name, value))
      left.emplace(name, value);
  }
  infer(model, file);
  // Tensors whose rank only the inference tells: what follows from them comes next.
  while (!left.empty()) {
    const std::size_t before = left.size();
    std::erase_if(left, [&model](const auto& each) {
      return set_by_axis(model, each.first, each.second);
    });
    if (left.size() == before) refuse_dimension(names, left.begin()->first, file);
    infer(model, file);
  }
}

}  // namespace espalier::onnx_detail
