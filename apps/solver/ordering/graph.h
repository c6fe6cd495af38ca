#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solver/matrix/sparse_matrix.h"
#include "solver/matrix/unset_vector.h"
#include "solver/threads/task_pool.h"

namespace espalier::solver {

/// An undirected graph in the form that METIS and SCOTCH take: each edge at both ends, no
/// loops. A vertex stands for one or more columns of a matrix.
struct Graph {
  UnsetVector<std::int64_t> start;  ///< size + 1 offsets
  UnsetVector<std::int32_t> neighbour;
  UnsetVector<std::int32_t> weight;  ///< columns of each vertex; empty: one each

  [[nodiscard]] std::int32_t size() const {
    return static_cast<std::int32_t>(start.size()) - 1;
  }
  [[nodiscard]] std::span<const std::int32_t> neighbours(std::int32_t vertex) const {
    return std::span(neighbour).subspan(start[vertex], start[vertex + 1] - start[vertex]);
  }
};

/// Of all vertices.
[[nodiscard]] std::int64_t total_weight(const Graph& graph);

/// The pattern without the diagonal; a vertex for each column.
///
/// @param room  for so many neighbours at least memory is taken for them
/// @par Cost  O(n + nonzeros), shared by the pool, and 16 bytes a nonzero meanwhile
[[nodiscard]] Graph adjacency(const SymmetricMatrix& matrix, TaskPool& pool,
                              std::int64_t room = 0);
[[nodiscard]] Graph adjacency(const SymmetricMatrix& matrix);

}  // namespace espalier::solver
