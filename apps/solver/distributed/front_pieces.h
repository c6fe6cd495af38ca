#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "solver/distributed/front_distribution.h"
#include "solver/symbolic/symbolic.h"
#include "solver/tree/assembly_tree.h"

namespace espalier::solver {

/// Columns [first, last) of a child's contribution block, inside one of its block
/// columns, that one process has and one block column of the parent, at another process,
/// needs.
struct FrontPiece {
  std::int32_t child;        ///< number among the children of the front
  std::int32_t first, last;  ///< columns of its contribution block
  std::int32_t block;        ///< of the parent, counted through panel and contribution
  std::int32_t from, to;     ///< processes
};

/// What the children's contribution blocks add to a shared node's front, what is at the
/// right process already included: in the order of blocks, then of children, then of
/// columns. The same on every process.
/// @param delayed  columns that its children delay to it
/// @par Cost  O(rows of the children + pieces)
[[nodiscard]] std::vector<FrontPiece> front_pieces(const Symbolic& symbolic,
                                                   const AssemblyTree& tree,
                                                   const FrontDistribution& distribution,
                                                   std::int32_t node,
                                                   std::int32_t delayed = 0);

/// Ranges [first, last) of columns, increasing.
using HeldColumns = std::vector<std::pair<std::int32_t, std::int32_t>>;

/// Columns of a front's contribution block that a process has.
[[nodiscard]] HeldColumns held_columns(const Symbolic& symbolic, const AssemblyTree& tree,
                                       const FrontDistribution& distribution,
                                       std::int32_t front, std::int32_t process);

}  // namespace espalier::solver
