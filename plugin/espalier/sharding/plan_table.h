#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "espalier/model/sharding_problem.h"
#include "espalier/sharding/tensor_parallel.h"

namespace espalier {

/// A plan of a stretch of operators: what it costs, what it holds, and where it was put
/// together from (a number in PlanTables).
struct PlanPoint {
  Cost cost = 0;
  Bytes memory = 0;
  std::int32_t origin = -1;
};

/// Plans none of which is better than another in both cost and memory, by cost.
using PlanFront = std::vector<PlanPoint>;

/// The best plans of a stretch of operators for each state of its input and of its output
/// on the mesh: entry in * states + out.
struct PlanTable {
  std::vector<PlanFront> fronts;
};

/// Tables of longer stretches from those of shorter ones. Costs and memory add up, so
/// that a stretch is put together from its parts' best plans only, and equal parts share
/// a table: n in a row take O(log n) steps.
///
/// With a price of memory, a front is the one plan of least cost + price * memory: exact,
/// and the Lagrangian bound of any limit. Without, it is all of them, thinned to `most`
/// where there are more; `thinned()` tells.
class PlanTables {
 public:
  PlanTables(const ShardingSetting& setting, std::optional<double> price,
             std::size_t most);

  /// Nothing, which leaves the state as it is.
  [[nodiscard]] PlanTable nothing() const;
  [[nodiscard]] PlanTable one(const ShardedOperator& op, std::int32_t number);
  /// Resharding of a tensor of that many features.
  [[nodiscard]] PlanTable reshard(std::int64_t width);
  /// First a, then b.
  [[nodiscard]] PlanTable join(const PlanTable& a, const PlanTable& b);
  /// Input and output of a are added: both are brought to the state of the sum.
  [[nodiscard]] PlanTable add_input(const PlanTable& a, std::int64_t width);
  /// a, `count` times.
  [[nodiscard]] PlanTable repeat(const PlanTable& a, std::int64_t count);

  [[nodiscard]] bool thinned() const { return thinned_; }

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
  std::int32_t joined(std::int32_t a, std::int32_t b);
  void prune(PlanFront& front);
  [[nodiscard]] double key(const PlanPoint& point) const {
    return static_cast<double>(point.cost) + *price_ * static_cast<double>(point.memory);
  }

  const ShardingSetting* setting_;
  std::size_t states_;
  std::optional<double> price_;
  std::size_t most_;
  bool thinned_ = false;
  std::vector<Origin> origins_;
};

}  // namespace espalier
