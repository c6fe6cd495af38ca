#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>

namespace espalier::onnx_detail {

/// Gives the model another batch: the first extent of its first input, and of every input
/// that begins with the same extent or name, becomes `batch`. Where it was a number, it
/// is changed in the constant shapes to which Reshape brings what depends on the inputs,
/// too, and the shapes that the model describes are forgotten, to be inferred anew.
/// @throws FileError when the first input has no shape, or no axis
void set_batch(onnx::ModelProto& model, std::int64_t batch, const std::string& file);

}  // namespace espalier::onnx_detail
