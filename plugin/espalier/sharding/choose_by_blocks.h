#pragma once

#include <cstddef>

#include "espalier/sharding/choose_strategies.h"
#include "espalier/sharding/problem_kinds.h"

namespace espalier {

/// A choice, and the blocks of which the problem was found to be a chain.
struct BlockedChoice {
  ShardingChoice choice;
  std::size_t blocks = 0;           ///< one after the other; 0: it is no chain of blocks
  std::size_t distinct_blocks = 0;  ///< each of them was searched once
};

/// choose_strategies() for problems that are chains of blocks (BlockChain), as models
/// with repeated layers are. The choice of least cost is exact; where it holds too much,
/// prices of memory give a bound and choices that fit, and what is left between them is a
/// matter of choose_strategies(), as is all that is no chain.
///
/// @param kinds  of the problem
/// @param fold  false: blocks that are equal are searched one by one, for tests
/// @par Cost  as BlockChain::best() for each of some twenty prices at most
/// @par Test  ChooseByBlocks.EqualsEnumerationWithAndWithoutFolding
[[nodiscard]] BlockedChoice choose_by_blocks(const ShardingProblem& problem,
                                             const ProblemKinds& kinds,
                                             const ShardingOptions& options = {},
                                             bool fold = true);

}  // namespace espalier
