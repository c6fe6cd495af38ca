#include "espalier/io/onnx/newer_schemas.h"

#include <onnx/defs/shape_inference.h>
#include <onnx/defs/tensor_proto_util.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace espalier::onnx_detail {
namespace {

using Context = onnx::InferenceContext;
using Dimension = onnx::TensorShapeProto::Dimension;

// Where an attribute of whole numbers is left out.
std::int64_t integer_of(Context& context, const char* attribute, std::int64_t otherwise) {
  const onnx::AttributeProto* const value = context.getAttribute(attribute);
  return value != nullptr ? value->i() : otherwise;
}

const onnx::TensorShapeProto& first_shape(Context& context) {
  return context.getInputType(0)->tensor_type().shape();
}

// Of x [, axes]; nothing is told of axes that are not known.
void infer_reduction(Context& context) {
  onnx::propagateElemTypeFromInputToOutput(context, 0, 0);
  if (!onnx::hasInputShape(context, 0)) return;
  const onnx::TensorShapeProto& x = first_shape(context);
  std::vector<std::int64_t> axes;
  if (context.getNumInputs() > 1 && context.getInputType(1) != nullptr) {
    const onnx::TensorProto* const given = context.getInputData(1);
    if (given == nullptr) return;
    axes = onnx::ParseData<std::int64_t>(given);
  }
  const std::int64_t rank = x.dim_size();
  for (std::int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  const bool all = axes.empty() && integer_of(context, "noop_with_empty_axes", 0) == 0;
  const bool keep = integer_of(context, "keepdims", 1) != 0;
  onnx::TensorShapeProto* const y = onnx::getOutputShape(context, 0);
  for (int axis = 0; axis < x.dim_size(); ++axis) {
    const bool reduced = all || std::ranges::find(axes, axis) != axes.end();
    if (reduced && keep) y->add_dim()->set_dim_value(1);
    if (!reduced) *y->add_dim() = x.dim(axis);
  }
}

// Equal pieces along the axis, the last one maybe smaller.
void infer_equal_split(Context& context, std::int64_t count) {
  const onnx::TensorShapeProto& x = first_shape(context);
  std::int64_t axis = integer_of(context, "axis", 0);
  if (axis < 0) axis += x.dim_size();
  if (axis < 0 || axis >= x.dim_size() || count < 1 ||
      count != static_cast<std::int64_t>(context.getNumOutputs()))
    fail_shape_inference("Split: its axis or its num_outputs is none of this tensor");
  const Dimension& whole = x.dim(static_cast<int>(axis));
  const std::int64_t all = whole.dim_value(), each = all / count + (all % count != 0);
  for (std::int64_t i = 0; i < count; ++i) {
    onnx::TensorShapeProto& y =
        *onnx::getOutputShape(context, static_cast<std::size_t>(i));
    y = x;
    Dimension& piece = *y.mutable_dim(static_cast<int>(axis));
    piece.Clear();
    if (whole.has_dim_value())
      piece.set_dim_value(std::clamp<std::int64_t>(all - i * each, 0, each));
  }
}

// With sizes in an input as before.
void infer_split(Context& context) {
  const onnx::AttributeProto* const count = context.getAttribute("num_outputs");
  if (count == nullptr)
    return onnx::OpSchemaRegistry::Schema("Split", 13)
        ->GetTypeAndShapeInferenceFunction()(context);
  for (std::size_t i = 0; i < context.getNumOutputs(); ++i)
    onnx::propagateElemTypeFromInputToOutput(context, 0, i);
  if (onnx::hasInputShape(context, 0)) infer_equal_split(context, count->i());
}

onnx::OpSchema schema(const std::string& name, int version,
                      onnx::InferenceFunction function) {
  onnx::OpSchema made;
  made.SetName(name).SetDomain("").SinceVersion(version).TypeAndShapeInferenceFunction(
      std::move(function));
  return made;
}

class Schemas final : public onnx::ISchemaRegistry {
 public:
  Schemas() {
    const auto add = [this](const std::string& name, int version,
                            onnx::InferenceFunction function) {
      newer_.emplace(name, schema(name, version, std::move(function)));
    };
    add("Gelu", 20, onnx::propagateShapeAndTypeFromFirstInput);
    add("Silu", 1, onnx::propagateShapeAndTypeFromFirstInput);
    add("Swish", 24, onnx::propagateShapeAndTypeFromFirstInput);
    add("GroupNormalization", 18, onnx::propagateShapeAndTypeFromFirstInput);
    add("ReduceMean", 18, infer_reduction);
    add("Split", 18, infer_split);
  }

  const onnx::OpSchema* GetSchema(const std::string& key, const int version,
                                  const std::string& domain) const override {
    const onnx::OpSchema* const known =
        onnx::OpSchemaRegistry::Instance()->GetSchema(key, version, domain);
    if (!domain.empty()) return known;
    const auto found = newer_.find(key);
    if (found == newer_.end() || version < found->second.since_version()) return known;
    const bool newest =
        known != nullptr && known->since_version() >= found->second.since_version();
    return newest ? known : &found->second;
  }

 private:
  std::map<std::string, onnx::OpSchema> newer_;
};

}  // namespace

const onnx::ISchemaRegistry& schemas() {
  static const Schemas all;
  return all;
}

}  // namespace espalier::onnx_detail
