#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "solver/ordering/graph.h"

namespace espalier::solver {

/// The vertices of a graph in two sides, 0 and 1, with no edge between them, and the
/// separator, kSeparator.
struct Partition {
  static constexpr std::int8_t kSeparator = 2;
  std::vector<std::int8_t> side;         ///< of each vertex
  std::array<std::int64_t, 3> weight{};  ///< of the sides and the separator
};

/// The separator's vertices, ascending.
[[nodiscard]] std::vector<std::int32_t> separator_of(const Partition& partition);

/// What a separator costs: its weight times 1 + (0.8 + 10 s^2) u^2 / (1 - u^2) where the
/// sides differ by the part u and the separator is the part s of the whole.
[[nodiscard]] double cost_of(const Partition& partition);

/// Whether a partition makes less work than another of the same graph: it has less
/// difference between the sides above 0.45 of the whole; then the separator that costs
/// less; then the lesser difference. Sides are not looked at, weights alone.
[[nodiscard]] bool is_better(const Partition& one, const Partition& other);

/// One of the vertices that are the most edges away from `start`.
[[nodiscard]] std::int32_t far_from(const Graph& graph, std::int32_t start);

/// A separator of a small graph: all vertices are on side 1 but for one that is drawn by
/// lot, or, by odd seeds, one that is far from it. It grows by the vertex that makes the
/// separator least, and the best on the way is taken.
///
/// @param graph  with weights
/// @par Cost  O(edges log vertices)
[[nodiscard]] Partition grown_partition(const Graph& graph, std::uint64_t seed);

/// Makes the separator lighter by passes of Fiduccia and Mattheyses [FM82] for vertex
/// separators [AL97]: a vertex of the separator goes to the side where that makes the
/// separator lightest, be it heavier than before; its neighbours on the other side come
/// into the separator. At the end of a pass all moves after the best state are taken
/// back. The last pass is the one that finds nothing better.
///
/// @par Cost  O(vertices), and for each pass the edges of separators times a logarithm
/// @param passes  at most
/// @par Test  what is left is a separator, and never a worse one
void refine_separator(const Graph& graph, Partition& partition, std::int32_t passes = 2);

}  // namespace espalier::solver
