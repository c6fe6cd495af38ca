#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <string>

namespace espalier::onnx_detail {

/// Whether a dimension has a name that the inference did not make up.
[[nodiscard]] bool has_own_name(const onnx::TensorShapeProto::Dimension& dimension);

/// Gives the dimensions their values and infers the shapes of all tensors of the model,
/// as far as they can be known.
/// @throws FileError for `dimensions` that the model does not have, and when the onnx
///         library gives up
void infer_shapes(onnx::ModelProto& model,
                  const std::map<std::string, std::int64_t>& dimensions,
                  const std::string& file);

}  // namespace espalier::onnx_detail
