#pragma once

#include <functional>
#include <vector>

#include "espalier/sequential/dag/search_budget.h"
#include "espalier/sequential/downsets/downset_block.h"

namespace espalier {

/// An order of a block and what is known of the best one.
struct PeakOrder {
  std::vector<BlockTaskId> order;
  Bytes peak = 0;
  Bytes lower_bound = 0;  ///< no order needs less
};

/// A first order: the best of the greedy ones and of the one by number; a first bound.
/// @param stop  asked now and then; when true, the best of what there is by then
/// @par Cost  that of greedy_order() and memory_lower_bound()
[[nodiscard]] PeakOrder first_order(const BlockIndex& block,
                                    const std::function<bool()>& stop = {});

/// Narrows the gap between peak and lower bound until none is left, or no more than
/// `floor` asks for, or the budget is spent.
///
/// Bounds between the two are tried with bounded_search(), forwards and backwards in
/// turn, each with few states: the lower bound itself first, then by bisection. An order
/// that fits is a better order, "impossible" raises the lower bound, and where a search
/// meets its limit a larger bound is tried. When every bound is beyond the limit, the
/// limit is raised fourfold.
///
/// @param floor  peaks no larger than this are good enough
/// @par Test  OrderGraph.MatchesBruteForceOnSmallGraphs
void narrow(const BlockIndex& block, Bytes floor, PeakOrder& found, SearchBudget& budget);

}  // namespace espalier
