#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "espalier/distributed/deal_pieces.h"
#include "espalier/distributed/distribute.h"
#include "espalier/distributed/process_groups.h"
#include "espalier/model/traversal.h"

namespace espalier {

/// One of the things that distribute() tries.
struct DistributionTrial {
  std::int32_t processes = 1;
  double budget = 0;       ///< of ProcessGroups
  bool balanced = true;    ///< local subtrees moved for equal work
  Bytes level = 0;         ///< of PieceDealer
  bool liu_order = false;  ///< of the whole tree; else of each local subtree alone
};

/// A tree whose local subtrees are one task each, in the manner of CoarseTree, with a
/// distribution of it. Its tasks are numbered in witness order.
struct CoarseDistribution {
  TaskTree tree;
  std::vector<std::int32_t> most_parts;
  std::vector<double> max_workers;
  Distribution distribution;
};

/// Trials and what comes of them, for one tree.
class DistributionSearch {
 public:
  /// The tree and what the options refer to must outlive this object.
  /// @throws InvalidInput as distribute()
  DistributionSearch(const TaskTree& tree, const DistributionOptions& options);

  /// The trial with each local subtree as one task that needs the peak of its best
  /// postorder. Its peaks are no less than those of make(trial).
  /// @pre not trial.liu_order
  /// @par Cost  O(units log n)
  [[nodiscard]] CoarseDistribution coarse(const DistributionTrial& trial);

  /// @par Cost  O(n log n)
  [[nodiscard]] Distribution make(const DistributionTrial& trial);

  /// Simulated makespan of a coarse distribution inside `bound`.
  [[nodiscard]] Seconds makespan(CoarseDistribution& coarse, Bytes bound) const;

  /// Of least largest peak among the trials that are looked at.
  [[nodiscard]] Distribution least(std::int32_t processes);

  [[nodiscard]] std::size_t most_dealt() const { return options_.most_dealt; }

  /// Budgets to try on P processes: no limit, none, then 25 between the lower bound and
  /// what any subtree needs, coarsely first.
  [[nodiscard]] std::vector<double> budgets(std::int32_t processes) const;

  /// See Distribution::lower_bound.
  [[nodiscard]] Bytes lower_bound(std::int32_t processes) const;

 private:
  [[nodiscard]] std::vector<DistributionUnit> units(const DistributionTrial& trial);
  [[nodiscard]] Distribution least_on(std::int32_t processes);
  [[nodiscard]] DistributionTrial least_coarse(std::int32_t processes);
  void describe_units(std::span<const DistributionUnit> units,
                      CoarseDistribution& coarse) const;
  [[nodiscard]] Mapping groups(std::span<const DistributionUnit> units) const;
  [[nodiscard]] std::vector<TaskId> order(std::span<const DistributionUnit> units) const;

  const TaskTree& tree_;
  DistributionOptions options_;
  std::vector<std::int32_t> counts_;
  std::vector<double> useful_;
  std::vector<double> subtree_useful_;  // workers that a subtree keeps busy by itself
  ProcessGroups groups_;
  Traversal liu_;
  std::vector<std::int32_t> unit_of_;  // -1 for all
  std::size_t dealt_ = 0;
};

}  // namespace espalier
