#pragma once

#include <cstdint>
#include <vector>

#include "solver/ordering/graph.h"
#include "solver/threads/task_pool.h"

namespace espalier::solver {

/// An order by approximate minimum degree [ADD96], of vertices with weights.
///
/// What is eliminated is kept as elements, lists of the vertices that it has made
/// neighbours of one another, so that memory does not grow with fill. Again and again:
///   1. a vertex of least degree becomes an element: its neighbours, and those that it
///      has by the elements it is in, which are part of the new one from here on.
///   2. The degree of each of these neighbours is bounded from above: by what is outside
///      the new element in each of its own elements, added up, by the degree before and
///      the new element, and by all that is left.
///   3. Elements that have nothing outside the new one are part of it. A neighbour that
///      has nothing outside it is eliminated at once.
///   4. Neighbours that have become the same to the factorisation are one vertex from
///      here on; they are found by hashes of their lists, and compared.
/// Degrees are sums of weights without the vertex's own. A vertex of more than
/// max(16, 10 sqrt(n)) neighbours comes last, by their number, and is nobody's neighbour
/// before that.
///
///   A path 0 - 1 - 2 with weights 1, 1, 5: 2 is next to weight 1, as is 0, and 1 to 6.
///   2 goes, then 1 and 0 see nothing but each other: order 2, 1, 0.
///
/// @param graph  taken over: its lists are where those of the search stand
/// @param ask    called now and then; empty or null: not called
/// @return result[new] = vertex
/// @par Cost  O(n edges) at worst; of meshes some 0.1 microseconds an edge end
/// @par Memory  minimum_degree_room() beside the graph, 4 bytes for each unit of weight
/// and
///            44 a vertex
/// @par Test  ApproximateMinimumDegree.*: no fill of forests, operations beside those of
///            exact degrees, vertices that are alike in the place of weights
[[nodiscard]] std::vector<std::int32_t> approximate_minimum_degree(
    Graph&& graph, const Interrupt* ask = nullptr);

/// Entries that its lists may have: the vertices of an element stand where its pivot's
/// list stood, or behind all lists, which are moved together when there is no room. A
/// graph whose neighbours have room for so many is not copied.
[[nodiscard]] constexpr std::int64_t minimum_degree_room(std::int32_t vertices,
                                                         std::int64_t edge_ends) {
  return edge_ends + edge_ends / 5 + vertices;
}

}  // namespace espalier::solver
