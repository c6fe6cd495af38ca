#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "solver/matrix/unset_vector.h"
#include "solver/ordering/vertex_blocks.h"
#include "solver/threads/task_pool.h"

namespace espalier::solver {

/// The vertices for which holds(v), ascending. Calls visit(v, number) for each with its
/// place among them, in any order and at the same time.
///
/// @par Cost  O(size), shared by the pool
template <class Holds, class Visit>
[[nodiscard]] UnsetVector<std::int32_t> vertices_where(std::int32_t size, TaskPool& pool,
                                                       Holds holds, Visit visit) {
  const auto blocks = VertexBlocks::fine(size);
  std::vector<std::int64_t> first(blocks.count() + 1, 0);
  pool.for_each_block(blocks.count(), [&](std::int64_t k) {
    for (std::int32_t v = blocks.first(k); v < blocks.first(k + 1); ++v)
      first[k + 1] += holds(v);
  });
  std::partial_sum(first.begin(), first.end(), first.begin());
  UnsetVector<std::int32_t> result(first.back());
  pool.for_each_block(blocks.count(), [&](std::int64_t k) {
    auto next = static_cast<std::int32_t>(first[k]);
    for (std::int32_t v = blocks.first(k); v < blocks.first(k + 1); ++v) {
      if (!holds(v)) continue;
      visit(v, next);
      result[next++] = v;
    }
  });
  return result;
}

}  // namespace espalier::solver
