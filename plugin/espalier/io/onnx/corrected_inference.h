#pragma once

#include <onnx/defs/schema.h>

#include <cstdint>

namespace espalier::onnx_detail {

/// Shapes of operators that the onnx library (1.12) infers wrongly, or not at all. Where
/// it is right, its own function is asked.

/// Slice with attributes, of operator sets up to 9: axes in any order, and places that
/// are counted from the end.
void infer_slice(onnx::InferenceContext& context);

/// Squeeze of operator sets up to 12: without axes all those of extent 1 go.
void infer_squeeze(onnx::InferenceContext& context);

/// Dropout of operator sets up to 11, whose mask is of the input's type or, from 10 on,
/// of truth values.
void infer_dropout(onnx::InferenceContext& context);
void infer_dropout_by_truth(onnx::InferenceContext& context);

/// Pools: with auto_pad SAME their extents are those of x over the strides, ceil_mode or
/// not; with ceil_mode no window begins behind x and the padding before it; windows of
/// AveragePool and LpPool may be dilated.
void infer_pool(onnx::InferenceContext& context);

/// ConvTranspose: with auto_pad SAME, and no output_shape, its extents are those of x
/// times the strides.
void infer_transposed_convolution(onnx::InferenceContext& context);

}  // namespace espalier::onnx_detail
