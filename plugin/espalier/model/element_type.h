#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/model/units.h"

namespace espalier {

/// What the elements of a tensor are.
enum class ElementType : std::uint8_t {
  kBool,
  kInt8,
  kUint8,
  kFloat8,  ///< of whatever kind
  kInt16,
  kUint16,
  kFloat16,
  kBfloat16,
  kInt32,
  kUint32,
  kFloat32,
  kInt64,
  kUint64,
  kFloat64,
  kComplex64,
  kComplex128,
  kInt4,  ///< two a byte, as the next two
  kUint4,
  kFloat4,
};

/// "float32", "int64", …
[[nodiscard]] std::string_view name(ElementType type);
[[nodiscard]] int bits(ElementType type);
/// Real floating point: what has a gradient.
[[nodiscard]] bool is_floating(ElementType type);

/// Extents by axis, none negative; none at all: a scalar.
using Shape = std::vector<std::int64_t>;

/// @throws OverflowError beyond 2^63 - 1
[[nodiscard]] std::int64_t element_count(const Shape& shape);
/// Bytes of a dense tensor; half a byte is rounded up. @throws OverflowError
[[nodiscard]] Bytes tensor_bytes(ElementType type, const Shape& shape);
/// "2x3x224x224"; of a scalar "scalar".
[[nodiscard]] std::string describe(const Shape& shape);

}  // namespace espalier
