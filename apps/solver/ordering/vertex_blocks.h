#pragma once

#include <algorithm>
#include <cstdint>

namespace espalier::solver {

/// The vertices of a graph, cut into ranges that different threads may work on. How many
/// depends on the graph alone, so that what comes out does not depend on the threads.
class VertexBlocks {
 public:
  explicit VertexBlocks(std::int32_t vertices) : vertices_(vertices) {}
  [[nodiscard]] std::int64_t count() const {
    return std::max<std::int64_t>(1, (std::int64_t{vertices_} + kSize - 1) / kSize);
  }
  /// Of block k; of block count(): one behind the last vertex.
  [[nodiscard]] std::int32_t first(std::int64_t k) const {
    return static_cast<std::int32_t>(std::min<std::int64_t>(vertices_, k * kSize));
  }

 private:
  static constexpr std::int64_t kSize = 1 << 14;
  std::int32_t vertices_;
};

}  // namespace espalier::solver
