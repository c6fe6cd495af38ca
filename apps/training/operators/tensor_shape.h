#pragma once

#include <cstdint>
#include <string>

#include "espalier/model/element_type.h"
#include "espalier/model/units.h"

namespace espalier::training {

/// How the elements of a tensor lie in memory. All formats of a tensor take the same
/// bytes, so that a plan does not depend on them.
enum class TensorFormat : std::int8_t {
  kPlain,         ///< the last dimension is contiguous
  kChannelsLast,  ///< rank 4: N H W C
  kBlocked16      ///< rank 4, channels in multiples of 16: N C/16 H W 16
};

struct TensorShape {
  ElementType type = ElementType::kFloat32;
  Shape dims = {};  ///< empty: one element
  TensorFormat format = TensorFormat::kPlain;

  [[nodiscard]] std::int64_t elements() const;  ///< @throws OverflowError
  [[nodiscard]] Bytes bytes() const;            ///< @throws OverflowError
  [[nodiscard]] std::int64_t rank() const { return std::ssize(dims); }
  /// Dimension `axis`, from the end where negative. @pre it exists
  [[nodiscard]] std::int64_t dim(std::int64_t axis) const;
  bool operator==(const TensorShape&) const = default;
};

[[nodiscard]] std::string describe(const TensorShape& shape);

/// The format in which kernels are fastest for a tensor of this shape: rank 4 blocked, or
/// channels last where the channels do not come in sixteens and are more than 3.
[[nodiscard]] TensorFormat fastest_format(const Shape& dims);

}  // namespace espalier::training
