#include "espalier/sharding/close_gap.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "espalier/sharding/plan_filter.h"

namespace espalier {
namespace {

// Kept in a front: at first, and at the most where that was too few.
constexpr std::size_t kFirstPlans = 512, kMostPlans = 8192;
constexpr double kMostPairs = 3e7;  // that one pass may compare
// How far above the bound plans are looked for first, of the way to the best one known,
// and how much farther every time.
constexpr double kFirstReach = 1.0 / 256, kFarther = 1.4;
// Prices that a filter takes, as multiples of the best one.
constexpr std::array<double, 7> kFilterPrices = {1, 1.4, 0.7, 4, 0.25, 64, 0};

class Closer {
 public:
  Closer(CostGap known, double price, Bytes limit, const GapTables& tables)
      : known_(known), price_(price), limit_(limit), tables_(tables), filter_(limit) {}

  CostGap run() {
    for (const double factor : kFilterPrices) {
      PlanTables tables(factor * price_);
      const PlanTable whole = tables_.whole(tables);
      filter_.add(tables, whole);
    }
    const auto begin = static_cast<double>(known_.lower_bound);
    const double above = static_cast<double>(known_.cost) - begin;
    double reach = kFirstReach;
    while (!known_.closed() && tables_.more()) {
      const double most = static_cast<double>(known_.cost - 1);
      const double goal = std::min(most, std::floor(begin + reach * above));
      const Cost before = known_.cost;
      if (!pass(goal)) break;
      if (known_.cost < before)
        reach = 1;
      else if (goal < most)
        reach *= kFarther;
      else if (plans_ < kMostPlans)
        plans_ *= 4;
      else
        break;
    }
    return known_;
  }

 private:
  // Plans of at most that cost. @return false where there were too many to compare
  bool pass(double goal) {
    filter_.set_goal(goal);
    PlanTables tables(filter_, plans_, kMostPairs);
    const PlanTable whole = tables_.whole(tables);
    const PlanPoint* plan = cheapest(whole, limit_);
    if (plan != nullptr && plan->cost < known_.cost) {
      known_.cost = plan->cost;
      tables_.take(tables, *plan);
    }
    // No plan costs less than the best one, what lies above the goal, or what was lost.
    const double bound =
        std::ceil(std::min({static_cast<double>(known_.cost), goal + 1, tables.lost()}));
    if (bound > static_cast<double>(known_.lower_bound))
      known_.lower_bound = static_cast<Cost>(bound);
    return tables.pairs() <= kMostPairs;
  }

  CostGap known_;
  double price_;
  Bytes limit_;
  const GapTables& tables_;
  PlanFilter filter_;
  std::size_t plans_ = kFirstPlans;
};

}  // namespace

const PlanPoint* cheapest(const PlanTable& table, Bytes limit) {
  const PlanPoint* best = nullptr;
  for (const PlanFront& front : table.fronts)
    for (const PlanPoint& plan : front)
      if (plan.memory <= limit && (best == nullptr || plan.cost < best->cost))
        best = &plan;
  return best;
}

CostGap close_gap(CostGap known, double price, Bytes limit, const GapTables& tables) {
  return Closer(known, price, limit, tables).run();
}

}  // namespace espalier
