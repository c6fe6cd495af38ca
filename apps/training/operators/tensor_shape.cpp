#include "training/operators/tensor_shape.h"

namespace espalier::training {

std::int64_t TensorShape::elements() const { return element_count(dims); }

Bytes TensorShape::bytes() const { return tensor_bytes(type, dims); }

std::int64_t TensorShape::dim(std::int64_t axis) const {
  return dims.at(static_cast<std::size_t>(axis < 0 ? axis + rank() : axis));
}

std::string describe(const TensorShape& shape) { return espalier::describe(shape.dims); }

TensorFormat fastest_format(const Shape& dims) {
  if (dims.size() != 4 || dims[1] <= 3) return TensorFormat::kPlain;
  return dims[1] % 16 == 0 ? TensorFormat::kBlocked16 : TensorFormat::kChannelsLast;
}

}  // namespace espalier::training
