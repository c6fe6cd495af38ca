#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "espalier/model/units.h"
#include "espalier/sharding/plan_table.h"

namespace espalier {

/// Tells which plans of a stretch can be part of a plan of the whole model that is better
/// than the best one known.
///
/// For a price p of memory let key = cost + p * memory, and rest(T, s, t) the least key
/// of everything but the stretch of table T, over all places where T is used, when the
/// stretch goes from state s to state t. A whole plan within the limit that contains a
/// plan x of T costs at least
///   key(x) + rest(T, s, t) - p * limit
/// for every p >= 0: what exceeds the best cost known is left out, and no optimum with
/// it. The rests are found from the whole to its parts, from the tables of least keys.
class PlanFilter {
 public:
  explicit PlanFilter(Bytes limit) : limit_(limit) {}

  /// One more price.
  /// @param tables  made with that price, `whole` the last of them
  void add(const PlanTables& tables, const PlanTable& whole);

  /// Plans of the whole that cost more than this are not looked for.
  void set_goal(double cost) { goal_ = cost; }

  /// What a whole plan costs at least that has the point in that entry of that table.
  [[nodiscard]] double bound(const PlanTable& table, std::size_t entry,
                             const PlanPoint& point) const;
  /// Cost and memory at the first of the prices.
  [[nodiscard]] double first_key(const PlanPoint& point) const;
  /// What the first_key() of a plan may be, at the most, that is put after the point to
  /// be worth keeping in that entry.
  [[nodiscard]] double room(const PlanTable& table, std::size_t entry,
                            const PlanPoint& point) const;
  [[nodiscard]] bool worth(const PlanTable& table, std::size_t entry,
                           const PlanPoint& point) const;

 private:
  struct Priced {
    double price;
    std::vector<std::vector<double>> rests;  // by table; what rounding can be off is off
    [[nodiscard]] double bound(std::size_t table, std::size_t entry, double cost,
                               double over) const {
      return cost + price * over + rests[table][entry];
    }
  };
  Bytes limit_;
  double goal_ = 0;
  std::vector<Priced> priced_;
};

}  // namespace espalier
