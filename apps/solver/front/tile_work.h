#pragma once

#include <vector>

#include "solver/front/front.h"
#include "solver/tree/tile_graph.h"

namespace espalier::solver {

/// How an open front of a tiled node is cut: as it is, since delayed columns make its
/// panel larger than planned.
template <class T>
[[nodiscard]] TileShape shape_of(const FrontContext<T>& context, const Front<T>& front);

/// What a task of a front that is not compressed computes, once it is assembled.
/// @return false: no positive pivot (Cholesky)
template <class T>
bool compute_tile(const TileShape& shape, const TileTask& task, Front<T>& front);

/// Has all tasks of a front run, in an order of their own. @return false: a bad pivot
template <class T, class Run>
bool run_in_turn(const FrontContext<T>& context, const TileShape& shape,
                 std::int32_t front, const Run& run) {
  const std::int32_t end =
      context.symbolic.first_column[front] + context.symbolic.pivots(front);
  TileGraph graph(shape);
  std::vector<TileTask> ready;
  graph.start(ready);
  for (std::size_t next = 0; next < ready.size() && !context.log.failed_before(end);
       ++next) {
    const TileTask task = ready[next];
    run(task);
    graph.end(task, ready);
  }
  return !context.log.failed_before(end);
}

}  // namespace espalier::solver
