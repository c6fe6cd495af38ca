#pragma once

#include <cstdint>
#include <span>

#include "solver/ordering/graph.h"
#include "solver/ordering/vertex_separator.h"

namespace espalier::solver {

/// A separator of a small graph from a cut through its edges: a side grows from a vertex
/// that `seed` chooses, by the vertex that leaves the least cut; the cut is made smaller
/// by passes of Fiduccia and Mattheyses; what it touches is the separator. On coarse
/// graphs, whose vertices are large, an edge cut says more of the separators below than
/// their vertices do.
///
/// @param graph        with weights
/// @param edge_weight  of graph.neighbour; empty: one each
/// @par Cost  O(edges log vertices)
[[nodiscard]] Partition partition_from_cut(const Graph& graph,
                                           std::span<const std::int32_t> edge_weight,
                                           std::uint64_t seed);

}  // namespace espalier::solver
