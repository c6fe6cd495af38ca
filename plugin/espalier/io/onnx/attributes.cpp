#include "espalier/io/onnx/attributes.h"

#include <cstring>
#include <utility>
#include <vector>

#include "espalier/io/onnx/tensor_data.h"

namespace espalier::onnx_detail {
namespace {

using Type = onnx::AttributeProto;

AttributeValue take_tensor(onnx::TensorProto& tensor, const std::string& file) {
  const auto type = element_type_of(tensor.data_type());
  if (!type) return OpaqueValue{};
  auto value = take_value(tensor, file);
  if (!value) return OpaqueValue{};
  return ConstantTensor{*type, Shape(tensor.dims().begin(), tensor.dims().end()),
                        std::move(*value)};
}

// Files of the first versions of the format do not say what an attribute is.
Type::AttributeType type_of(const onnx::AttributeProto& attribute) {
  if (attribute.type() != Type::UNDEFINED) return attribute.type();
  if (attribute.has_i()) return Type::INT;
  if (attribute.has_f()) return Type::FLOAT;
  if (attribute.has_s()) return Type::STRING;
  if (attribute.has_t()) return Type::TENSOR;
  if (attribute.ints_size() > 0) return Type::INTS;
  if (attribute.floats_size() > 0) return Type::FLOATS;
  if (attribute.strings_size() > 0) return Type::STRINGS;
  return Type::UNDEFINED;
}

AttributeValue take_attribute(onnx::AttributeProto& attribute, const std::string& file) {
  switch (type_of(attribute)) {
    case Type::INT:
      return std::int64_t{attribute.i()};
    case Type::FLOAT:
      return double{attribute.f()};
    case Type::STRING:
      return attribute.s();
    case Type::TENSOR:
      return take_tensor(*attribute.mutable_t(), file);
    case Type::INTS:
      return std::vector<std::int64_t>(attribute.ints().begin(), attribute.ints().end());
    case Type::FLOATS:
      return std::vector<double>(attribute.floats().begin(), attribute.floats().end());
    case Type::STRINGS:
      return std::vector<std::string>(attribute.strings().begin(),
                                      attribute.strings().end());
    default:
      return OpaqueValue{};
  }
}

TensorValue value_of_floats(const std::vector<float>& elements) {
  std::string bytes(elements.size() * sizeof(float), '\0');
  if (!elements.empty()) std::memcpy(bytes.data(), elements.data(), bytes.size());
  return TensorValue::of(std::move(bytes));
}

}  // namespace

std::map<std::string, AttributeValue, std::less<>> take_attributes(
    onnx::NodeProto& node, const std::string& file) {
  std::map<std::string, AttributeValue, std::less<>> attributes;
  for (onnx::AttributeProto& attribute : *node.mutable_attribute())
    attributes.insert_or_assign(attribute.name(), take_attribute(attribute, file));
  return attributes;
}

std::optional<TensorValue> constant_value(onnx::NodeProto& node,
                                          const std::string& file) {
  for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    const std::string& name = attribute.name();
    if (name == "value") return take_value(*attribute.mutable_t(), file);
    if (name == "value_float") return value_of_floats({attribute.f()});
    if (name == "value_floats")
      return value_of_floats({attribute.floats().begin(), attribute.floats().end()});
    std::vector<std::int64_t> integers(attribute.ints().begin(), attribute.ints().end());
    if (name == "value_int") integers = {attribute.i()};
    if (name == "value_int" || name == "value_ints") return TensorValue::of(integers);
  }
  return std::nullopt;
}

}  // namespace espalier::onnx_detail
