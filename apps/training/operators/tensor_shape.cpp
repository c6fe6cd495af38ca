#include "training/operators/tensor_shape.h"

#include <fmt/format.h>

#include "espalier/model/error.h"

namespace espalier::training {

Bytes element_bytes(ElementType type) {
  switch (type) {
    case ElementType::kFloat64:
    case ElementType::kInt64:
      return 8;
    case ElementType::kFloat32:
    case ElementType::kInt32:
      return 4;
    case ElementType::kBytes:
      return 1;
  }
  return 1;
}

std::int64_t TensorShape::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count = checked_mul(count, dim);
  return count;
}

Bytes TensorShape::bytes() const { return checked_mul(elements(), element_bytes(type)); }

std::int64_t TensorShape::dim(std::int64_t axis) const {
  return dims.at(static_cast<std::size_t>(axis < 0 ? axis + rank() : axis));
}

std::string describe(const TensorShape& shape) {
  if (shape.dims.empty()) return "scalar";
  return fmt::format("{}", fmt::join(shape.dims, "x"));
}

TensorFormat fastest_format(const std::vector<std::int64_t>& dims) {
  if (dims.size() != 4 || dims[1] <= 3) return TensorFormat::kPlain;
  return dims[1] % 16 == 0 ? TensorFormat::kBlocked16 : TensorFormat::kChannelsLast;
}

}  // namespace espalier::training
