#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "espalier/sequential/downsets/downset_walk.h"

namespace espalier {

/// What ends a search before its answer.
struct SearchLimits {
  std::int64_t states = 1 << 20;             ///< downsets at which there is a choice
  std::size_t bytes = std::size_t{1} << 29;  ///< for remembered downsets
  std::function<bool()> stop = {};           ///< asked now and then; empty: never
};

struct BoundedOrder {
  enum class Answer {
    kFits,        ///< `order` keeps inside the bound
    kImpossible,  ///< no order does, nor inside any bound below `least_bytes`
    kUnknown,     ///< a limit was met
  };
  Answer answer = Answer::kUnknown;
  std::vector<BlockTaskId> order;  ///< as it is to be run, whatever the direction
  Bytes least_bytes = 0;
  std::int64_t states = 0;
};

/// Whether the tasks of a block can run inside a bound, and in which order.
///
/// A depth-first search over downsets, from the empty set or from all tasks backwards.
/// Three rules keep it small; each holds because v is submodular (downset_block.h), so
/// that what can be done from a downset can be done beside whatever else has been
/// reached:
///   1. A task whose step fits and does not raise the level is taken at once.
///   2. When a downset T is reached whose level is no higher than that of A, passed on
///      the way there, the search goes on from the lowest downset between A and T
///      (lowest_downset.h), which can be reached too, and gives up all other ways on from
///      A: what they reach can be reached from there.
///   3. A downset from which the end was not reached is not tried again. It is remembered
///      exactly, as the tasks that may be next.
/// Of several steps the one that raises the level least is tried first; among equals the
/// one that uses what has been written last.
///
/// @param bound  in bytes, of the level v and of what tasks need over it
/// @par Cost  O(n w) time for each of the downsets visited with w tasks ready together,
///            at worst all there are; memory as limited
/// @par Test  BoundedSearch.AgreesWithBruteForceAtEveryBound
[[nodiscard]] BoundedOrder bounded_search(const BlockIndex& block, Bytes bound,
                                          DownsetWalk::Direction direction,
                                          const SearchLimits& limits);

}  // namespace espalier
