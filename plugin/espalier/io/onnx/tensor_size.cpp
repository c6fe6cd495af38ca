#include "espalier/io/onnx/tensor_size.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "espalier/io/onnx/infer_shapes.h"
#include "espalier/io/onnx/tensor_data.h"
#include "espalier/model/error.h"

namespace espalier::onnx_detail {
namespace {

using Size = tl::expected<Bytes, std::string>;

Size dense_size(int type, const Shape& dimensions) {
  if (type == onnx::TensorProto::STRING)
    return tl::unexpected<std::string>("its elements are strings, which have no size");
  const std::optional<ElementType> element = element_type_of(type);
  if (!element)
    return tl::unexpected(fmt::format("its type of elements, {}, is not known", type));
  return tensor_bytes(*element, dimensions);
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
