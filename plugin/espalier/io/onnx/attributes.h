#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <optional>
#include <string>

#include "espalier/model/operator_graph.h"

namespace espalier::onnx_detail {

/// The attributes of a node by name; tensors are moved out of it.
[[nodiscard]] std::map<std::string, AttributeValue, std::less<>> take_attributes(
    onnx::NodeProto& node, const std::string& file);

/// What a Constant node holds, moved out of it; nothing for strings and sparse tensors.
[[nodiscard]] std::optional<TensorValue> constant_value(onnx::NodeProto& node,
                                                        const std::string& file);

}  // namespace espalier::onnx_detail
