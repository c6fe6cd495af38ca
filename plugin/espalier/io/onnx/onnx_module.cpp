#include "espalier/io/onnx/onnx_module.h"

extern "C" __attribute__((visibility("default")))
const espalier::OnnxModule espalier_onnx_module{.read = espalier::read_operator_graph};
