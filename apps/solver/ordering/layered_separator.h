#pragma once

#include <cstdint>

#include "solver/ordering/graph.h"
#include "solver/ordering/vertex_separator.h"

namespace espalier::solver {

/// The separator that is the vertices at one distance from an end of the graph [GL81],
/// the distance whose vertices cost least. The end is one of the vertices farthest from
/// the one that is given.
///
/// A grid of 7 points has separators that weigh as much as a plane at any slope up to the
/// diagonal one, and the corner that the diagonal one cuts off is lighter than they are:
///
///     o o s x    a corner of a square: 3 and not the 4 of a line.
///     o s x x    Coarse graphs have lost the directions of the grid, and the way from
///     s x x x    a plane to the corner makes nothing lighter before its end, so that
///     x x x x    neither they nor passes of refinement find it.
///
/// Parts that are not connected follow each other, with nothing between them.
///
/// @param graph  with weights
/// @par Cost  O(vertices + edges): a pass over the graph for each of the two vertices
/// @par Test  separates; no other distance from the same end costs less
[[nodiscard]] Partition layered_separator(const Graph& graph, std::int32_t vertex);

}  // namespace espalier::solver
