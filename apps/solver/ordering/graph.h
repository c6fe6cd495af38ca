#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solver/matrix/sparse_matrix.h"
#include "solver/ordering/task_pool.h"

namespace espalier::solver {

/// An undirected graph in the form that METIS and SCOTCH take: each edge at both ends, no
/// loops. A vertex stands for one or more columns of a matrix.
struct Graph {
  std::vector<std::int64_t> start;  ///< size + 1 offsets
  std::vector<std::int32_t> neighbour;
  std::vector<std::int32_t> weight;  ///< columns of each vertex; empty: one each

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
/// @par Cost  O(n + nonzeros), shared by the pool, and 16 bytes a nonzero meanwhile
[[nodiscard]] Graph adjacency(const SymmetricMatrix& matrix, TaskPool& pool);
[[nodiscard]] Graph adjacency(const SymmetricMatrix& matrix);

/// A partition of vertices, numbered by the first vertex of each group.
struct Groups {
  std::vector<std::int32_t> of;  ///< group of each vertex
  std::int32_t count = 0;
};

/// Vertices that are equal to the factorisation: adjacent, with the same neighbours
/// beside each other [Ash95]. Eliminating one makes no fill in the columns of the others.
///
/// @par Cost  O(n + edges) but for neighbours whose hashes meet by chance; all of it but
///            what vertices of a neighbour's hash take is shared by the pool
/// @par Test  equals a comparison of all pairs of sets
[[nodiscard]] Groups indistinguishable_vertices(const Graph& graph, TaskPool& pool);
[[nodiscard]] Groups indistinguishable_vertices(const Graph& graph);

/// Each column with its partner: partner[partner[i]] = i.
[[nodiscard]] Groups paired_vertices(std::span<const std::int32_t> partner);

/// A vertex for each group; groups are adjacent where some of their vertices are.
///
/// @par Cost  O(n + edges)
[[nodiscard]] Graph quotient(const Graph& graph, const Groups& groups);

/// The pattern in which columns with a partner have each other's entries too: partners
/// come into one front, where they can be a 2 x 2 pivot. Without values; rows of a column
/// are in no order.
///
/// @par Cost  O(n + edges)
[[nodiscard]] SymmetricMatrix paired_pattern(const SymmetricMatrix& matrix,
                                             std::span<const std::int32_t> partner);

/// Replaces each group in an order of groups by its vertices, in increasing order.
[[nodiscard]] std::vector<std::int32_t> expanded_order(
    std::span<const std::int32_t> group_order, const Groups& groups);

}  // namespace espalier::solver
