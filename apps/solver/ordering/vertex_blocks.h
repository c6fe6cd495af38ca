#pragma once

#include <algorithm>
#include <cstdint>

namespace espalier::solver {

/// The vertices of a graph, cut into ranges that different threads may work on. How many
/// depends on the graph alone, so that what comes out does not depend on the threads.
class VertexBlocks {
 public:
  explicit VertexBlocks(std::int32_t vertices) : vertices_(vertices) {}
  /// Smaller ones, for what comes out alike however it is cut; for_edges(): where much is
  /// done with each edge.
  [[nodiscard]] static VertexBlocks fine(std::int32_t vertices) {
    return {vertices, kFine};
  }
  [[nodiscard]] static VertexBlocks for_edges(std::int32_t vertices) {
    return {vertices, kForEdges};
  }
  [[nodiscard]] std::int64_t count() const {
    return std::max<std::int64_t>(1, (std::int64_t{vertices_} + size_ - 1) / size_);
  }
  /// Of block k; of block count(): one behind the last vertex.
  [[nodiscard]] std::int32_t first(std::int64_t k) const {
    return static_cast<std::int32_t>(std::min<std::int64_t>(vertices_, k * size_));
  }

 private:
  VertexBlocks(std::int32_t vertices, std::int64_t size)
      : vertices_(vertices), size_(size) {}
  static constexpr std::int64_t kSize = 1 << 14, kFine = 1 << 12, kForEdges = 1 << 11;
  std::int32_t vertices_;
  std::int64_t size_ = kSize;
};

}  // namespace espalier::solver
