#pragma once

#include <cstdint>
#include <functional>
#include <limits>

#include "espalier/model/sharding_problem.h"
#include "espalier/model/units.h"

namespace espalier {

/// How a search for strategies stands.
struct ShardingProgress {
  Seconds seconds = 0;
  bool found = false;
  Cost cost = 0;         ///< of the best choice so far, where one was found
  Cost lower_bound = 0;  ///< no choice within the limit costs less
};

struct ShardingOptions {
  Seconds time = 60;  ///< when the search ends with the best so far
  /// Time is the processor time of the calling thread: the same beside other work.
  bool processor_time = false;
  /// Rounds of search at most: the answer is then the same on every machine, unless time
  /// ends the search first.
  std::int64_t rounds = std::numeric_limits<std::int64_t>::max();
  std::uint64_t seed = 1;
  /// Called some ten times a second at most. False: stop, with the best so far.
  std::function<bool(const ShardingProgress&)> progress = {};
};

/// A strategy for each node, of least cost within the limit, or the best that was found
/// in time, with a lower bound. The problem is NP-hard, so that a proof is not promised;
/// `proved()` tells.
///
/// simplify() takes out what no optimum needs; DualAscent bounds the cost from below, and
/// its prices of memory lead ForestSearch to choices that fit; what costs more than the
/// best choice by its bound is taken out again, and a depth-first search decides what is
/// left where that is little. docs/manual/sharding.md has the whole.
///
/// @par Test  equals enumeration on thousands of small random problems
[[nodiscard]] ShardingChoice choose_strategies(const ShardingProblem& problem,
                                               const ShardingOptions& options = {});

}  // namespace espalier
