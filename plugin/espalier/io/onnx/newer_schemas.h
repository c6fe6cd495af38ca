#pragma once

#include <onnx/defs/schema.h>

namespace espalier::onnx_detail {

/// The schemas of the onnx library; those of operators that training knows and an older
/// library (1.12 ends at operator set 17) does not: Gelu, Swish (also as Silu),
/// GroupNormalization, ReduceMean with its axes as an input, Split with num_outputs; and,
/// in place of the library's, those of corrected_inference.h. Ours tell types and shapes
/// of results, and nothing else.
[[nodiscard]] const onnx::ISchemaRegistry& schemas();

}  // namespace espalier::onnx_detail
