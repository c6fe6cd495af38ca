#pragma once

#include <cstdint>
#include <vector>

#include "solver/ordering/graph.h"
#include "solver/threads/task_pool.h"

namespace espalier::solver {

/// A fill-reducing order by nested dissection [George73]: result[new] = vertex. The two
/// sides of a separator come first, each ordered in the same way, then the separator;
/// parts of at most some two hundred vertices are ordered by minimum_degree_order().
///
/// Separators are bisect()'s. Sides are ordered at the same time, and what is done on the
/// large ones is shared out too. The order depends on the graph alone: the seeds of a
/// side are those of its parent and its number.
///
/// @param graph   any; unlike the libraries', with any number of edges
/// @param record     takes what was done, for replaying it; may be null
/// @param interrupt  called between parts; may be null
/// @throws std::bad_alloc, std::system_error when threads cannot start; what `interrupt`
///         throws
/// @par Cost  O((vertices + edges) log vertices) time; in memory a few times the graph,
///            on no stack: the depth of the dissection is not one of recursion
/// @par Test  the same for any number of workers; fill of grids; odd graphs
[[nodiscard]] std::vector<std::int32_t> nested_dissection(
    Graph&& graph, std::int32_t workers, std::vector<RecordedTask>* record = nullptr,
    const Interrupt* interrupt = nullptr);

}  // namespace espalier::solver
