#pragma once

#include <onnx/onnx_pb.h>

#include <optional>
#include <string>

#include "espalier/model/element_type.h"
#include "espalier/model/tensor_value.h"

namespace espalier::onnx_detail {

/// Of a TensorProto::DataType, those of later versions of the format among them; nothing
/// for strings and what is not known.
[[nodiscard]] std::optional<ElementType> element_type_of(int type);

/// What the tensor holds. Raw data are moved out of it, not copied; external data stay in
/// their file, which is sought beside the model's, `file`.
/// @return nothing when it holds none (a model without its weights), for elements of a
///         type that has no value here, and for an external location that is no place in
///         the model's folder
[[nodiscard]] std::optional<TensorValue> take_value(onnx::TensorProto& tensor,
                                                    const std::string& file);

}  // namespace espalier::onnx_detail
