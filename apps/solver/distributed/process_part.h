#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "solver/distributed/front_distribution.h"
#include "solver/symbolic/symbolic.h"
#include "solver/tree/assembly_tree.h"

namespace espalier::solver {

/// How a shared front runs at each of its processes, which is what its memory is made of.
struct SharedFrontRules {
  /// Pieces of children's contribution blocks that others are asked for at once. Factored
  /// block columns are asked for when nothing of the children is here any more, never
  /// both: as many at once as the distribution says, two so that one comes while work is
  /// done with another.
  static constexpr std::int32_t kPieces = 2;

  /// Blocks of a front that are finished here, at least, when own block number i begins:
  /// all up to own block number i - window, and so that processes give back their parts
  /// of the children's blocks as fast as they assemble their own, all that are `window`
  /// rounds before it, a round being a block for each process of the grid's row.
  /// @param own  blocks that are assembled here, increasing
  [[nodiscard]] static std::int32_t finished_before(std::span<const std::int32_t> own,
                                                    std::size_t i, std::int32_t window,
                                                    std::int32_t round) {
    const auto before = static_cast<std::size_t>(window);
    const std::int32_t last = i >= before ? own[i - before] + 1 : 0;
    return std::max(last, (own[i] / round - window + 1) * round);
  }
};

/// Data that a process receives in a factorisation.
struct Traffic {
  Bytes bytes = 0;
  Bytes waited = 0;  ///< of them that work waits for: panels that come one at a time
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
