#pragma once

#include "solver/ordering/graph.h"
#include "solver/ordering/vertex_separator.h"

namespace espalier::solver {

/// Puts the least separator of a band around the one that there is in its place, if that
/// is better: a greatest flow through the band from one side to the other finds it, and
/// of several the one that costs least (see cost_of()) among those that one meets when
/// the first side takes the band's vertices in turn. Unlike refine_separator(), which
/// goes over a hill of some moves, it straightens a separator as a whole:
///
///     o o s x x x    o o s x x x    Where neighbours are those of a king, the left one
///     o o s s x x    o o s x x x    weighs 4, and no move of one vertex makes it
///     o o o s x x    o o s x x x    lighter.
///
/// The band has all vertices up to a distance from the separator: on each side at most
/// three tenths of the side's weight and two vertices for each of the separator. Where it
/// has too many edges, as around hubs, nothing is done.
///
/// @return whether it has found something better
/// @par Cost  O(vertices), and some tens of passes over the band's edges at most (see
///            VertexFlow)
/// @par Test  no separator inside the band is lighter, by brute force; never a worse one
bool refine_by_flow(const Graph& graph, Partition& partition);

}  // namespace espalier::solver
