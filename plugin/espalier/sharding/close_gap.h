#pragma once

#include <functional>

#include "espalier/model/units.h"
#include "espalier/sharding/plan_table.h"

namespace espalier {

/// What is known of the least cost within a limit of memory.
struct CostGap {
  Cost cost = 0;         ///< of a plan within the limit
  Cost lower_bound = 0;  ///< no plan within the limit costs less
  [[nodiscard]] bool closed() const { return cost <= lower_bound; }
};

/// Of what a model's plans are put together, the same way every time.
struct GapTables {
  /// The table of the whole model, the last that is made.
  std::function<PlanTable(PlanTables&)> whole;
  /// A plan within the limit that is better than all before.
  std::function<void(const PlanTables&, const PlanPoint&)> take;
  /// Whether there is time for another pass.
  std::function<bool()> more = [] { return true; };
};

/// Fronts of the plans that can still be part of one near the bound, and farther from it
/// until one fits: it is the best, unless plans were lost; then all better ones
/// (docs/decisions/0136-fronts-inside-the-gap.md).
///
/// @param price  of memory, of the best bound known; above 0
/// @return closed unless fronts had to be thinned, or there is too much to compare
[[nodiscard]] CostGap close_gap(CostGap known, double price, Bytes limit,
                                const GapTables& tables);

/// The cheapest plan of the table within the limit; null: none is.
[[nodiscard]] const PlanPoint* cheapest(const PlanTable& table, Bytes limit);

}  // namespace espalier
