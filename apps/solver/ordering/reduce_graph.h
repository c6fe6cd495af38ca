#pragma once

#include <cstdint>
#include <vector>

#include "solver/ordering/graph.h"

namespace espalier::solver {

/// A graph without the vertices whose place in an elimination order is plain.
struct ReducedGraph {
  std::vector<std::int32_t> first;  ///< to be eliminated first, in this order
  std::vector<std::int32_t> core;   ///< what is left: vertex of each of graph's
  std::vector<std::int32_t> last;   ///< to be eliminated last, in this order
  Graph graph;                      ///< of `core`
};

/// Takes vertices out of a graph before it is ordered.
///
/// Hubs, where asked for, come last, by number of neighbours: vertices with more than
/// max(16, 10 sqrt(n)) neighbours, unless these are more than one in twenty. Nested
/// dissection would look for separators among edges that all lead to them.
///
/// Then what has at most one neighbour left is eliminated, again and again: that makes no
/// fill beside the hubs. Forests vanish altogether, and so do diagonal matrices, stars
/// and arrows.
///
/// @par Cost  O(n + edges); nothing is copied where nothing is taken out
/// @par Test  every vertex is in one of the lists; orders of forests make no fill
[[nodiscard]] ReducedGraph reduce_graph(Graph&& graph, bool hubs);

/// The order of the whole graph from one of its core, which holds vertices of
/// reduced.graph.
[[nodiscard]] std::vector<std::int32_t> whole_order(const ReducedGraph& reduced,
                                                    std::vector<std::int32_t> core_order);

}  // namespace espalier::solver
