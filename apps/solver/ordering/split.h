#pragma once

#include <array>
#include <cstdint>

#include "solver/matrix/unset_vector.h"
#include "solver/ordering/coarsen.h"
#include "solver/ordering/vertex_separator.h"
#include "solver/threads/task_pool.h"

namespace espalier::solver {

/// Part of a graph that is being dissected, coarser and coarser.
struct Piece {
  Levels levels;
  UnsetVector<std::int32_t> vertices;  ///< of the whole graph, by vertex of level 0

  [[nodiscard]] std::int32_t size() const {
    return static_cast<std::int32_t>(vertices.size());
  }
};

/// The two sides, with their coarse levels: those of the piece, of which each keeps the
/// vertices that stand for some of its own. So a graph is coarsened once, not once for
/// each time that it is cut. Coarse edges that stood for edges of the separator alone
/// stay: they make a separator no less one. Level 1, which takes nearly the memory of
/// level 0, is let go: restore_level_1() makes it when the side's turn comes.
///
/// @par Cost  O(vertices + edges) of all levels, shared by the pool
[[nodiscard]] std::array<Piece, 2> split(Piece&& piece, const Partition& partition,
                                         TaskPool& pool);

}  // namespace espalier::solver
