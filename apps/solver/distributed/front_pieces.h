#pragma once

#include <cstdint>
#include <vector>

#include "solver/distributed/front_distribution.h"
#include "solver/symbolic/symbolic.h"
#include "solver/tree/assembly_tree.h"

namespace espalier::solver {

/// Columns [first, last) of a tile of a child's contribution block that one process has
/// and one block column of the parent, as far as it is at another process, needs: all
/// rows of the tile, of which the process takes those that belong to it.
struct FrontPiece {
  std::int32_t child;        ///< number among the children of the front
  std::int32_t first, last;  ///< columns of its contribution block, in one block column
  std::int32_t strip;        ///< of the child
  std::int32_t block;        ///< of the parent, counted through panel and contribution
  std::int32_t from, to;     ///< processes
};

/// What the children's contribution blocks add to a shared node's front, what is at the
/// right process already included: in the order of blocks, then of children, then of
/// columns. The same on every process.
/// @param delayed  columns that its children delay to it
/// @par Cost  O(rows of the children x strips + pieces)
[[nodiscard]] std::vector<FrontPiece> front_pieces(const Symbolic& symbolic,
                                                   const AssemblyTree& tree,
                                                   const FrontDistribution& distribution,
                                                   std::int32_t node,
                                                   std::int32_t delayed = 0);

}  // namespace espalier::solver
