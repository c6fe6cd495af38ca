#include "cli/onnx_bytes.h"

#include <cctype>

namespace espalier::cli_test {
namespace {

constexpr std::uint64_t kSingle = 1;  // TensorProto.FLOAT

std::string number(std::uint64_t value) {
  std::string text;
  for (; value >= 128; value /= 128) text += static_cast<char>(value % 128 + 128);
  return text + static_cast<char>(value);
}

bool is_number(const std::string& text) {
  return std::isdigit(static_cast<unsigned char>(text.at(0))) != 0;
}

// ValueInfoProto.
std::string described(const OnnxTensor& tensor) {
  std::string shape;
  for (const std::string& extent : tensor.extents)
    shape += bytes_field(1, is_number(extent) ? number_field(1, std::stoull(extent))
                                              : bytes_field(2, extent));
  const std::string type =
      bytes_field(1, number_field(1, kSingle) + bytes_field(2, shape));
  return bytes_field(1, tensor.name) + bytes_field(2, type);
}

// TensorProto.
std::string initializer(const OnnxTensor& tensor) {
  std::string text;
  std::size_t elements = 1;
  for (const std::string& extent : tensor.extents) {
    text += number_field(1, std::stoull(extent));
    elements *= std::stoull(extent);
  }
  return text + number_field(2, kSingle) + bytes_field(8, tensor.name) +
         bytes_field(9, std::string(4 * elements, '\0'));
}

}  // namespace

std::string number_field(int field, std::uint64_t value) {
  return static_cast<char>(field << 3) + number(value);
}

std::string bytes_field(int field, const std::string& bytes) {
  return static_cast<char>(field << 3 | 2) + number(bytes.size()) + bytes;
}

std::string onnx_bytes(const OnnxModel& model) {
  std::string graph;
  for (const OnnxNode& node : model.nodes) {
    std::string text;
    for (const std::string& input : node.inputs) text += bytes_field(1, input);
    for (const std::string& output : node.outputs) text += bytes_field(2, output);
    graph += bytes_field(1, text + bytes_field(3, node.name) + bytes_field(4, node.type));
  }
  graph += bytes_field(2, "g");
  for (const OnnxTensor& each : model.weights) graph += bytes_field(5, initializer(each));
  for (const OnnxTensor& each : model.inputs) graph += bytes_field(11, described(each));
  for (const OnnxTensor& each : model.outputs) graph += bytes_field(12, described(each));
  for (const OnnxTensor& each : model.others) graph += bytes_field(13, described(each));
  return number_field(1, 8) + bytes_field(7, graph) + bytes_field(8, number_field(2, 16));
}

}  // namespace espalier::cli_test
