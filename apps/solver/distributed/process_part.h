#pragma once

#include <cstdint>

#include "solver/distributed/front_distribution.h"
#include "solver/symbolic/symbolic.h"
#include "solver/tree/assembly_tree.h"

namespace espalier::solver {

/// How a shared front runs at each of its processes, which is what its memory is made of.
struct SharedFrontRules {
  /// Pieces of children's contribution blocks that others are asked for at once, and
  /// factored block columns likewise. The latter are asked for when nothing of the
  /// children is here any more: never both.
  static constexpr std::int32_t kPieces = 2, kPanels = 2;
};

/// Data that a process receives in a factorisation.
struct Traffic {
  Bytes bytes = 0;
  std::int64_t messages = 0;
};

/// The assembly tree as one process sees it: the same nodes, with the sizes and the work
/// of the parts that it has. Nodes that it takes no part in are empty.
///
/// A shared node has at a process
///   r  the pages of its block columns of the panel
///   f  the pages of its block columns of the contribution block
///   m  what it needs at most in addition while block columns are assembled in turn, its
///      parts of the children's blocks go away as they are added or sent, and what others
///      send is received: SharedFrontRules; and of a grid of processes, where
///      pivots are tested, what they do together about a panel
/// so that the peak of an order of nodes is exact for every process, as it is for one.
///
/// @param whole  build_assembly_tree(), for all processes
/// @param received  what is sent to this process, if not null
/// @throws OverflowError
/// @par Cost  O(nodes + fronts) and for shared nodes O(rows + blocks^2) each
[[nodiscard]] AssemblyTree part_of(const Symbolic& symbolic, const AssemblyTree& whole,
                                   const FrontDistribution& distribution,
                                   std::int32_t process, Traffic* received = nullptr);

}  // namespace espalier::solver
