#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <tl/expected.hpp>

#include "espalier/model/units.h"

namespace espalier::onnx_detail {

/// Bytes of a value, or why they are not known: "dimension 0, 'batch', is not known …".
/// @throws OverflowError beyond 2^63 - 1
[[nodiscard]] tl::expected<Bytes, std::string> size_of(const onnx::TypeProto& type,
                                                       const std::string& tensor);
[[nodiscard]] tl::expected<Bytes, std::string> size_of(const onnx::TensorProto& tensor);
/// Of the values and the indices.
[[nodiscard]] tl::expected<Bytes, std::string> size_of(
    const onnx::SparseTensorProto& tensor);

}  // namespace espalier::onnx_detail
