#include "espalier/io/onnx/newer_schemas.h"

#include <onnx/defs/shape_inference.h>
#include <onnx/defs/tensor_proto_util.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "espalier/io/onnx/corrected_inference.h"

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

// As sums, of whole numbers.
void infer_bitwise(Context& context) {
  onnx::OpSchemaRegistry::Schema("Add", 14)->GetTypeAndShapeInferenceFunction()(context);
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
    for (const auto& [name, since] : {std::pair{"BitwiseNot", 18},
                                      {"Gelu", 20},
                                      {"GroupNormalization", 18},
                                      {"Mish", 18},
                                      {"RMSNormalization", 23},
                                      {"RotaryEmbedding", 23},
                                      {"Silu", 1},
                                      {"Swish", 24},
                                      {"TensorScatter", 24}})
      add_newer(name, since, onnx::propagateShapeAndTypeFromFirstInput);
    for (const char* name : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"})
      add_newer(name, 18, infer_bitwise);
    add_newer("ReduceMean", 18, infer_reduction);
    add_newer("Split", 18, infer_split);
    add_corrected("Slice", 1, 9, infer_slice);
    add_corrected("Squeeze", 1, 12, infer_squeeze);
    add_corrected("Dropout", 1, 9, infer_dropout);
    add_corrected("Dropout", 10, 11, infer_dropout_by_truth);
    add_corrected("MaxPool", 1, kEver, infer_pool);
    add_corrected("AveragePool", 1, kEver, infer_pool);
    add_corrected("LpPool", 2, kEver, infer_pool);
    add_corrected("ConvTranspose", 1, kEver, infer_transposed_convolution);
  }

  const onnx::OpSchema* GetSchema(const std::string& key, const int version,
                                  const std::string& domain) const override {
    const onnx::OpSchema* const known =
        onnx::OpSchemaRegistry::Instance()->GetSchema(key, version, domain);
    if (!domain.empty()) return known;
    const auto [first, last] = ours_.equal_range(key);
    for (auto each = first; each != last; ++each) {
      const Ours& ours = each->second;
      const int since = ours.schema.since_version();
      if (version < since || version > ours.until) continue;
      const bool newest = known != nullptr && known->since_version() >= since;
      if (ours.corrects || !newest) return &ours.schema;
    }
    return known;
  }

 private:
  static constexpr int kEver = std::numeric_limits<int>::max();
  struct Ours {
    onnx::OpSchema schema;
    int until;      // the last operator set
    bool corrects;  // also a schema of the library
  };

  void add_newer(const std::string& name, int since, onnx::InferenceFunction function) {
    ours_.emplace(name, Ours{schema(name, since, std::move(function)), kEver, false});
  }
  void add_corrected(const std::string& name, int since, int until,
                     onnx::InferenceFunction function) {
    ours_.emplace(name, Ours{schema(name, since, std::move(function)), until, true});
  }

  std::multimap<std::string, Ours> ours_;
};

}  // namespace

const onnx::ISchemaRegistry& schemas() {
  static const Schemas all;
  return all;
}

}  // namespace espalier::onnx_detail
