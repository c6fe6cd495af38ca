#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "espalier/model/sharding_problem.h"
#include "espalier/sharding/table_join.h"

namespace espalier {

/// What a plan of a part that is repeated begins and ends with: numbers of plans of the
/// part that leave the state as it is, or -1; and its place among the plans of its table.
struct PlanEnds {
  std::int32_t first = -1, last = -1;
  std::int64_t order = 0;
};

/// A plan of a stretch of operators: what it costs, what it holds, and where it was put
/// together from (a number in PlanTables).
struct PlanPoint {
  Cost cost = 0;
  Bytes memory = 0;
  std::int32_t origin = -1;
  PlanEnds ends = {};
};

/// Plans none of which is better than another in both cost and memory.
using PlanFront = std::vector<PlanPoint>;

/// The best plans of a part of a model for each state of what joins it to the rest: of a
/// stretch, its input and its output.
struct PlanTable {
  std::vector<std::size_t> shape;  ///< states by axis
  std::vector<PlanFront> fronts;   ///< the last axis's states fastest
  std::int32_t number = -1;        ///< of those that a PlanTables has made
};

class PlanFilter;

/// Tables of larger parts from those of smaller ones. Costs and memory add up, so that a
/// part is put together from its parts' best plans only, and equal parts share a table: n
/// in a row take O(log n) steps.
///
/// With a price of memory, a front is the one plan of least key, cost + price * memory:
/// exact, and the Lagrangian bound of any limit; with kMemoryAlone the plan of least
/// memory. Without, it is all plans that a filter finds worth keeping, thinned to `most`
/// where there are more; thinned() tells.
class PlanTables {
 public:
  static constexpr double kMemoryAlone = std::numeric_limits<double>::infinity();
  explicit PlanTables(double price) : price_(price) {}
  /// @param most_pairs  of plans that are compared; then all else is lost
  PlanTables(const PlanFilter& filter, std::size_t most, double most_pairs)
      : filter_(&filter), most_(most), most_pairs_(most_pairs) {}

  /// The way of an operator, for a plan's origin.
  [[nodiscard]] std::int32_t leaf(std::int32_t op, std::int32_t way);
  /// A table with those plans, of which only the best are kept.
  [[nodiscard]] PlanTable given(std::vector<std::size_t> shape,
                                std::vector<PlanFront> plans);
  /// Nothing, which leaves the state as it is.
  [[nodiscard]] PlanTable nothing(std::size_t states);
  [[nodiscard]] PlanTable join(const PlanTable& a, const PlanTable& b, TableJoin how);
  /// First a, then b: the second axis of a is the first of b.
  [[nodiscard]] PlanTable chain(const PlanTable& a, const PlanTable& b);
  /// a, which ends as it begins, `count` times. Plans of a that leave the state as it is
  /// can change places with those beside them: of all orders only that by number is
  /// looked at, and of plans as good as each other the first in lexicographic order is
  /// kept. Some plan that is best in all of this has no part that is left out.
  [[nodiscard]] PlanTable repeat(const PlanTable& a, std::int64_t count);

  [[nodiscard]] bool thinned() const { return lost_ < kMemoryAlone; }
  /// What a whole plan costs at least that has one of the plans thinned out.
  [[nodiscard]] double lost() const { return lost_; }
  /// Pairs of plans that were compared.
  [[nodiscard]] double pairs() const { return pairs_; }

  /// How a table was made: from two others, or from none. The same for every price and
  /// for fronts.
  struct Making {
    std::int32_t first = -1, second = -1;
    TableJoin how = {};
  };
  [[nodiscard]] const Making& making(std::size_t number) const {
    return makings_[number];
  }
  /// Least keys of its entries; infinite where there is no plan.
  [[nodiscard]] const std::vector<double>& least(std::size_t number) const {
    return least_[number];
  }
  [[nodiscard]] double price() const { return price_.value_or(0); }

  /// Ways of operators in the order in which they are computed: numbers given to one(),
  /// and the way of each.
  struct Step {
    std::int32_t op, way;
  };
  [[nodiscard]] std::vector<Step> steps(std::int32_t origin) const;

 private:
  struct Origin {
    std::int32_t first, second;  // origins, or an operator and a way
    bool leaf;
  };
  struct Pair;
  class PairFront;
  [[nodiscard]] static PlanPoint sum_of(const PlanPoint& first, const PlanPoint& second);
  [[nodiscard]] std::optional<Pair> best_pair(const PlanTable& a, const PlanTable& b,
                                              const JoinedEntry& entry) const;
  [[nodiscard]] std::vector<Pair> pairs(const PlanTable& table, const PlanTable& a,
                                        const PlanTable& b, const JoinedEntry& entry);
  [[nodiscard]] PlanTable begin(Making making, std::vector<std::size_t> shape);
  void end(const PlanTable& table);
  std::int32_t joined(std::int32_t a, std::int32_t b);
  static void number(PlanTable& table);
  static void renumber(PlanTable& table);
  void prune(const PlanTable& table, std::size_t entry, PlanFront& front);
  void thin(const PlanTable& table, std::size_t entry, PlanFront& front);
  [[nodiscard]] double key(const PlanPoint& point) const {
    if (*price_ == kMemoryAlone) return static_cast<double>(point.memory);
    return static_cast<double>(point.cost) + *price_ * static_cast<double>(point.memory);
  }

  std::optional<double> price_;
  const PlanFilter* filter_ = nullptr;
  std::size_t most_ = 1;
  double most_pairs_ = kMemoryAlone, lost_ = kMemoryAlone, pairs_ = 0;
  std::vector<Origin> origins_;
  std::vector<Making> makings_;             // by table
  std::vector<std::vector<double>> least_;  // by table, with a price
};

}  // namespace espalier
