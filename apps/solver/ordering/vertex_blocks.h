#pragma once

#include <algorithm>
#include <cstdint>

namespace espalier::solver {

/// The vertices of a graph, cut into ranges that different threads may work on. How many
/// depends on the graph alone, so that what comes out does not depend on the threads.
class VertexBlocks {
 public:
  explicit VertexBlocks(std::int32_t vertices) : vertices_(vertices) {}
  /// Smaller ones, for what comes out alike however it is cut.
  [[nodiscard]] static VertexBlocks fine(std::int32_t vertices) {
    VertexBlocks blocks(vertices);
    blocks.size_ = kFine;
    return blocks;
  }
  [[nodiscard]] std::int64_t count() const {
    return std::max<std::int64_t>(1, (std::int64_t{vertices_} + size_ - 1) / size_);
  }
  /// Of block k; of block count(): one behind the last vertex.
  [[nodiscard]] std::int32_t first(std::int64_t k) const {
    return static_cast<std::int32_t>(std::min<std::int64_t>(vertices_, k * size_));
  }

 private:
  static constexpr std::int64_t kSize = 1 << 14, kFine = 1 << 12;
  std::int32_t vertices_;
  std::int64_t size_ = kSize;
};

}  // namespace espalier::solver
