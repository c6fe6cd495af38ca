#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "solver/ordering/graph.h"
#include "solver/threads/task_pool.h"

namespace espalier::solver {

/// The same graph coarser and coarser: graphs[k + 1] has a vertex for each vertex or pair
/// of vertices of graphs[k], which weighs what they weigh.
struct Levels {
  std::vector<std::shared_ptr<const Graph>> graphs;  ///< all with weights
  std::vector<UnsetVector<std::int32_t>> edges;  ///< edges[k][i]: how many of graphs[0]
                                                 ///< neighbour[i] of k is for; 0: empty
  std::vector<UnsetVector<std::int32_t>> maps;   ///< maps[k][v]: v's vertex in k + 1
};

/// Coarsens by heavy-edge matchings [KK98] until at most `most` vertices are left, or
/// until a matching finds too few pairs.
///
/// Vertices are matched inside blocks of the numbering, each on its own, and what is left
/// then across them, so that the result depends on the graph alone and the work can be
/// shared. Of the free neighbours that make no pair of more than three times the mean
/// weight, a vertex takes one with the most edges between them for its weight: the
/// greatest e^2 / w. Where
/// that leaves too many alone, as around hubs, two that have a neighbour in common pair.
///
/// @param graph  with weights; becomes graphs[0]
/// @par Cost  O(vertices + edges) of all levels
[[nodiscard]] Levels coarsen(std::shared_ptr<const Graph> graph, std::int32_t most,
                             TaskPool& pool);

/// Makes graphs[1] and edges[1] anew from graphs[0] and maps[0], where there is a level 1
/// that was let go (null).
///
/// @par Cost  O(vertices + edges) of graphs[0], shared by the pool
void restore_level_1(Levels& levels, TaskPool& pool);

}  // namespace espalier::solver
