#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solver/ordering/graph.h"

namespace espalier::solver {

/// An order of a few vertices that takes, again and again, one of least weight of what
/// is its neighbours by then: minimum external degree, without approximation. Neighbours
/// outside, which are eliminated later, count like others [PRA00]; of more than a
/// thousand the rest is left out.
///
/// @param part  increasing
/// @return positions in `part`
/// @par Cost  with n vertices, h neighbours outside and d neighbours of a vertex when it
///            is eliminated, O(n (n + d (n + h) / 64)) time and n (n + h) / 8 bytes
/// @par Test  against the degrees of a plain elimination, on small random graphs
[[nodiscard]] std::vector<std::int32_t> minimum_degree_order(
    const Graph& graph, std::span<const std::int32_t> part);

}  // namespace espalier::solver
