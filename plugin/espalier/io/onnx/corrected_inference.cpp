#include "espalier/io/onnx/corrected_inference.h"

#include <onnx/defs/shape_inference.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

namespace espalier::onnx_detail {
namespace {

using Context = onnx::InferenceContext;
using Dimension = onnx::TensorShapeProto::Dimension;
using Numbers = std::vector<std::int64_t>;

const onnx::TensorShapeProto& shape_of_first(Context& context) {
  return context.getInputType(0)->tensor_type().shape();
}

// Where an attribute is left out.
Numbers numbers_of(Context& context, const char* attribute, Numbers otherwise) {
  const onnx::AttributeProto* const value = context.getAttribute(attribute);
  return value != nullptr ? Numbers(value->ints().begin(), value->ints().end())
                          : std::move(otherwise);
}

void ask_library(Context& context, const char* schema, int version) {
  onnx::OpSchemaRegistry::Schema(schema, version)
      ->GetTypeAndShapeInferenceFunction()(context);
}

int axis_among(std::int64_t axis, int rank) {
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) fail_shape_inference("an axis is none of its input's");
  return static_cast<int>(axis);
}

bool pads_automatically(Context& context, const char* how) {
  const onnx::AttributeProto* const pad = context.getAttribute("auto_pad");
  return pad != nullptr && pad->s().rfind(how, 0) == 0;
}

bool pads_alike(Context& context) { return pads_automatically(context, "SAME"); }

// Calls extent(x, stride) for each axis of space whose extent is known.
template <class Extent>
void infer_space(Context& context, onnx::TensorShapeProto& y, const Extent& extent) {
  const onnx::TensorShapeProto& x = shape_of_first(context);
  const auto space = static_cast<std::size_t>(std::max(0, x.dim_size() - 2));
  const Numbers strides = numbers_of(context, "strides", Numbers(space, 1));
  if (strides.size() != space || space == 0 || std::ranges::min(strides) < 1)
    fail_shape_inference("its strides are none of its input's axes");
  for (std::size_t i = 0; i < space; ++i) {
    const Dimension& from = x.dim(static_cast<int>(i + 2));
    Dimension& to = *y.add_dim();
    if (from.has_dim_value()) to.set_dim_value(extent(from.dim_value(), strides[i]));
  }
}

std::int64_t product(std::int64_t a, std::int64_t b) {
  if (a < 0 || (a > 0 && b > std::numeric_limits<std::int64_t>::max() / a))
    fail_shape_inference("an extent leaves the 64-bit range");
  return a * b;
}

void infer_dropout_with(Context& context, std::int32_t mask) {
  onnx::propagateShapeAndTypeFromFirstInput(context);
  if (context.getNumOutputs() < 2) return;
  onnx::updateOutputElemType(context, 1, mask);
  if (onnx::hasInputShape(context, 0))
    *onnx::getOutputShape(context, 1) = shape_of_first(context);
}

// Rounded up, the last window of an axis may begin in the padding behind x: it is none.
void drop_windows_behind(Context& context) {
  const onnx::AttributeProto* const up = context.getAttribute("ceil_mode");
  if (up == nullptr || up->i() == 0 || !onnx::hasInputShape(context, 0)) return;
  const onnx::TensorShapeProto& x = shape_of_first(context);
  const auto space = static_cast<std::size_t>(x.dim_size() - 2);
  const Numbers strides = numbers_of(context, "strides", Numbers(space, 1));
  const Numbers pads = pads_automatically(context, "VALID")
                           ? Numbers(space, 0)
                           : numbers_of(context, "pads", Numbers(2 * space, 0));
  for (std::size_t output = 0; output < context.getNumOutputs(); ++output) {
    onnx::TensorShapeProto& y = *onnx::getOutputShape(context, output);
    for (std::size_t i = 0; i < space && y.dim_size() == x.dim_size(); ++i) {
      const Dimension& from = x.dim(static_cast<int>(i + 2));
      Dimension& to = *y.mutable_dim(static_cast<int>(i + 2));
      if (from.has_dim_value() && to.has_dim_value() &&
          (to.dim_value() - 1) * strides[i] >= from.dim_value() + pads[i])
        to.set_dim_value(to.dim_value() - 1);
    }
  }
}

}  // namespace

void infer_slice(Context& context) {
  onnx::propagateElemTypeFromInputToOutput(context, 0, 0);
  if (!onnx::hasInputShape(context, 0)) return;
  const Numbers starts = numbers_of(context, "starts", {}),
                ends = numbers_of(context, "ends", {});
  Numbers axes(starts.size());
  std::iota(axes.begin(), axes.end(), 0);
  axes = numbers_of(context, "axes", std::move(axes));
  if (ends.size() != starts.size() || axes.size() != starts.size())
    fail_shape_inference("Slice: of starts, ends and axes there are not as many");
  onnx::TensorShapeProto& y = *onnx::getOutputShape(context, 0);
  y = shape_of_first(context);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    Dimension& extent = *y.mutable_dim(axis_among(axes[i], y.dim_size()));
    const std::int64_t all = extent.dim_value();
    const auto place = [all](std::int64_t at) {
      return std::clamp<std::int64_t>(at < 0 ? at + all : at, 0, all);
    };
    const bool known = extent.has_dim_value();
    extent.Clear();
    if (known)
      extent.set_dim_value(std::max<std::int64_t>(0, place(ends[i]) - place(starts[i])));
  }
}

void infer_squeeze(Context& context) {
  if (context.getAttribute("axes") != nullptr) return ask_library(context, "Squeeze", 11);
  onnx::propagateElemTypeFromInputToOutput(context, 0, 0);
  if (!onnx::hasInputShape(context, 0)) return;
  onnx::TensorShapeProto y;
  for (const Dimension& extent : shape_of_first(context).dim()) {
    if (!extent.has_dim_value()) return;
    if (extent.dim_value() != 1) *y.add_dim() = extent;
  }
  *onnx::getOutputShape(context, 0) = y;
}

void infer_dropout(Context& context) {
  const onnx::TypeProto* const x = context.getInputType(0);
  infer_dropout_with(context, x != nullptr ? x->tensor_type().elem_type()
                                           : onnx::TensorProto::UNDEFINED);
}

void infer_dropout_by_truth(Context& context) {
  infer_dropout_with(context, onnx::TensorProto::BOOL);
}

void infer_pool(Context& context) {
  if (!pads_alike(context)) {
    ask_library(context, "MaxPool", 12);
    return drop_windows_behind(context);
  }
  onnx::propagateElemTypeFromInputToOutput(context, 0, 0);
  if (!onnx::hasInputShape(context, 0)) return;
  onnx::TensorShapeProto y;
  for (int axis = 0; axis < 2; ++axis) *y.add_dim() = shape_of_first(context).dim(axis);
  infer_space(context, y, [](std::int64_t x, std::int64_t stride) {
    return x / stride + (x % stride != 0);
  });
  *onnx::getOutputShape(context, 0) = y;
  if (context.getNumOutputs() < 2) return;
  onnx::updateOutputElemType(context, 1, onnx::TensorProto::INT64);
  *onnx::getOutputShape(context, 1) = y;
}

void infer_transposed_convolution(Context& context) {
  if (!pads_alike(context) || context.getAttribute("output_shape") != nullptr)
    return ask_library(context, "ConvTranspose", 11);
  onnx::propagateElemTypeFromInputToOutput(context, 0, 0);
  if (!onnx::hasInputShape(context, 0) || !onnx::hasInputShape(context, 1)) return;
  const onnx::TensorShapeProto& w = context.getInputType(1)->tensor_type().shape();
  if (w.dim_size() != shape_of_first(context).dim_size())
    fail_shape_inference("ConvTranspose: its weights have other axes than its input");
  const onnx::AttributeProto* const group = context.getAttribute("group");
  onnx::TensorShapeProto y;
  *y.add_dim() = shape_of_first(context).dim(0);
  Dimension& channels = *y.add_dim();
  if (w.dim(1).has_dim_value())
    channels.set_dim_value(product(w.dim(1).dim_value(), group ? group->i() : 1));
  infer_space(context, y, product);
  *onnx::getOutputShape(context, 0) = y;
}

}  // namespace espalier::onnx_detail
