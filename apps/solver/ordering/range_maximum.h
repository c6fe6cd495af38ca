#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "solver/ordering/vertex_blocks.h"
#include "solver/threads/task_pool.h"

namespace espalier::solver {

/// The largest of consecutive values: maxima of sixteen each, of sixteen of those, and so
/// on.
///
/// @par Cost  a fifteenth of the values in memory; a query of a range of length k takes
///            O(log k) steps of up to thirty values
/// @par Test  RangeMaximum.EqualsLookingAtAllOfThem
class RangeMaximum {
 public:
  /// @param values  outlive this
  RangeMaximum(std::span<const std::int32_t> values, TaskPool& pool) : values_(values) {
    for (auto below = values; below.size() >= kFan; below = levels_.back()) {
      std::vector<std::int32_t> level(below.size() / kFan);
      const VertexBlocks blocks(static_cast<std::int32_t>(level.size()));
      pool.for_each_block(blocks.count(), [&](std::int64_t k) {
        for (std::int64_t i = blocks.first(k); i < blocks.first(k + 1); ++i)
          level[i] = std::ranges::max(below.subspan(i * kFan, kFan));
      });
      levels_.push_back(std::move(level));
    }
  }

  /// Of values begin to end - 1, of which there is one at least.
  [[nodiscard]] std::int32_t of(std::int64_t begin, std::int64_t end) const {
    std::int32_t largest = std::numeric_limits<std::int32_t>::min();
    std::span<const std::int32_t> level = values_;
    for (std::size_t k = 0;; ++k) {
      for (; begin < end && begin % kFan != 0; ++begin)
        largest = std::max(largest, level[begin]);
      for (; begin < end && end % kFan != 0; --end)
        largest = std::max(largest, level[end - 1]);
      if (begin == end) return largest;
      begin /= kFan;
      end /= kFan;
      level = levels_[k];
    }
  }

 private:
  static constexpr std::int64_t kFan = 16;
  std::span<const std::int32_t> values_;
  std::vector<std::vector<std::int32_t>> levels_;
};

}  // namespace espalier::solver
