#pragma once

#include <cstdint>

namespace espalier::solver {

/// A block of vectors, one after the other.
template <class T>
struct Vectors {
  T* data;
  std::int64_t stride;  ///< from one vector to the next
  std::int32_t count;

  /// Without the first entries of each.
  [[nodiscard]] Vectors from(std::int64_t first) const {
    return {data + first, stride, count};
  }
};

}  // namespace espalier::solver
