#include "espalier/io/onnx/tensor_size.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "espalier/io/onnx/infer_shapes.h"
#include "espalier/model/error.h"

namespace espalier::onnx_detail {
namespace {

using Size = tl::expected<Bytes, std::string>;

// Bits of an element. Numbers above 16 are of later versions of the format: 8-bit floats,
// 4-bit integers and floats.
std::optional<Bytes> element_bits(int type) {
  switch (type) {
    case onnx::TensorProto::BOOL:
    case onnx::TensorProto::INT8:
    case onnx::TensorProto::UINT8:
    case 17:
    case 18:
    case 19:
    case 20:
      return 8;
    case onnx::TensorProto::INT16:
    case onnx::TensorProto::UINT16:
    case onnx::TensorProto::FLOAT16:
    case onnx::TensorProto::BFLOAT16:
      return 16;
    case onnx::TensorProto::INT32:
    case onnx::TensorProto::UINT32:
    case onnx::TensorProto::FLOAT:
      return 32;
    case onnx::TensorProto::INT64:
    case onnx::TensorProto::UINT64:
    case onnx::TensorProto::DOUBLE:
    case onnx::TensorProto::COMPLEX64:
      return 64;
    case onnx::TensorProto::COMPLEX128:
      return 128;
    case 21:
    case 22:
    case 23:
      return 4;
    default:
      return std::nullopt;
  }
}

Size dense_size(int type, const std::vector<Bytes>& dimensions) {
  if (type == onnx::TensorProto::STRING)
    return tl::unexpected<std::string>("its elements are strings, which have no size");
  const std::optional<Bytes> bits = element_bits(type);
  if (!bits)
    return tl::unexpected(fmt::format("its type of elements, {}, is not known", type));
  if (std::ranges::count(dimensions, 0) > 0) return 0;
  Bytes elements = 1;
  for (const Bytes dimension : dimensions) elements = checked_mul(elements, dimension);
  if (*bits < 8) return elements / 2 + elements % 2;
  return checked_mul(elements, *bits / 8);
}

}  // namespace

Size size_of(const onnx::TypeProto& type, const std::string& tensor) {
  if (type.value_case() == onnx::TypeProto::VALUE_NOT_SET)
    return tl::unexpected<std::string>("its type is not known");
  if (type.value_case() != onnx::TypeProto::kTensorType)
    return tl::unexpected<std::string>("it is not a dense tensor, and has no size");
  const onnx::TypeProto::Tensor& dense = type.tensor_type();
  if (!dense.has_shape()) return tl::unexpected<std::string>("its shape is not known");
  std::vector<Bytes> dimensions;
  for (const onnx::TensorShapeProto::Dimension& dimension : dense.shape().dim()) {
    if (!dimension.has_dim_value() || dimension.dim_value() < 0) {
      const std::size_t axis = dimensions.size();
      if (!has_own_name(dimension))
        return tl::unexpected(
            fmt::format("its dimension {} is not known; give it with --dim {}:{}=N", axis,
                        tensor, axis));
      return tl::unexpected(
          fmt::format("its dimension {}, '{}', is not known; give it with --dim {}=N",
                      axis, dimension.dim_param(), dimension.dim_param()));
    }
    dimensions.push_back(dimension.dim_value());
  }
  return dense_size(dense.elem_type(), dimensions);
}

Size size_of(const onnx::TensorProto& tensor) {
  const std::vector<Bytes> dimensions(tensor.dims().begin(), tensor.dims().end());
  for (const Bytes dimension : dimensions) {
    if (dimension < 0)
      return tl::unexpected(fmt::format("its dimension {} is negative", dimension));
  }
  return dense_size(tensor.data_type(), dimensions);
}

Size size_of(const onnx::SparseTensorProto& tensor) {
  const Size values = size_of(tensor.values());
  if (!values) return values;
  const Size indices = size_of(tensor.indices());
  if (!indices) return indices;
  return checked_add(*values, *indices);
}

}  // namespace espalier::onnx_detail
