#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace espalier::cli_test {

// Parts of an ONNX file, by hand: the program's tests need no library for it. A number or
// a text under the number of its field.
std::string number_field(int field, std::uint64_t value);
std::string bytes_field(int field, const std::string& bytes);

struct OnnxNode {
  std::string type, name;
  std::vector<std::string> inputs, outputs;
};
/// In single precision; an extent that is no number is open, and has this name.
struct OnnxTensor {
  std::string name;
  std::vector<std::string> extents;
};
struct OnnxModel {
  std::vector<OnnxNode> nodes;
  std::vector<OnnxTensor> inputs, weights, outputs;
  std::vector<OnnxTensor> others = {};  ///< whose shapes the file tells
};

/// Weights are 0.
std::string onnx_bytes(const OnnxModel& model);

}  // namespace espalier::cli_test
