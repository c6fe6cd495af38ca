#pragma once

#include <cstdint>
#include <vector>

#include "solver/ordering/graph.h"
#include "solver/ordering/ordering.h"

namespace espalier::solver {

/// The order that the library of `kind`, METIS or SCOTCH, gives the graph, which has a
/// vertex and no isolated ones: result[new] = vertex. The library must be in this build.
///
/// @throws Error when the library fails
[[nodiscard]] std::vector<std::int32_t> library_order(Graph&& graph, OrderingKind kind);

}  // namespace espalier::solver
