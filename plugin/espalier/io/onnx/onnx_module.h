#pragma once

#include "espalier/io/onnx/read_operator_graph.h"

namespace espalier {

/// What libespalier_onnx.so gives to who loads it (machine/load_module.h), as the symbol
/// espalier_onnx_module. It has the libraries of ONNX and Protobuf with it.
struct OnnxModule {
  OperatorGraph (*read)(const std::string& path, const OnnxOptions& options);
};

}  // namespace espalier
