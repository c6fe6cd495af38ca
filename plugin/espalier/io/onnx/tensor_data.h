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
/// their file, which is sought beside the model's, `file`, and are opened by who reads
/// them; where they name no place in the model's folder, no whole offset, or another
/// length than the tensor's, the value is unreadable and says so.
/// @return nothing when it holds none (a model without its weights), and for elements of
///         a type that has no value here
[[nodiscard]] std::optional<TensorValue> take_value(onnx::TensorProto& tensor,
                                                    const std::string& file);

}  // namespace espalier::onnx_detail
