#include "espalier/distributed/distribute.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "espalier/distributed/distribution_search.h"
#include "espalier/parallel/worker_share.h"

namespace espalier {
namespace {

constexpr Bytes kUnlimited = std::numeric_limits<Bytes>::max();

void check(const DistributionOptions& options) {
  if (options.processes < 1) {
    throw InvalidInput(
        fmt::format("{} processes: at least one is needed", options.processes));
  }
  check_workers(options.workers);
}

// [PS93] as it is published.
Distribution proportional_distribution(DistributionSearch& search,
                                       std::int32_t processes) {
  return search.make({.processes = processes,
                      .budget = std::numeric_limits<double>::infinity(),
                      .balanced = false,
                      .level = kUnlimited,
                      .liu_order = processes == 1});
}

// Runs what fits, and keeps the shortest.
class ShortestRun {
 public:
  ShortestRun(DistributionSearch& search, Bytes bound) : search_(search), bound_(bound) {}

  void consider(const DistributionTrial& trial) {
    if (dealt_ >= search_.most_dealt()) return;
    CoarseDistribution coarse = search_.coarse(trial);
    const std::size_t parts = coarse.distribution.owner.size();
    dealt_ += parts;
    if (coarse.distribution.largest_peak() > bound_) return;
    // A run costs several times what dealing does.
    dealt_ += kRunCost * parts;
    const Seconds makespan = search_.makespan(coarse, bound_);
    const bool sends_more = found_ && trial.budget < found_->budget;
    if (found_ && makespan > least_ * (sends_more ? kWorthwhile : 1)) return;
    found_ = trial;
    least_ = makespan;
  }

  [[nodiscard]] const std::optional<DistributionTrial>& found() const { return found_; }

 private:
  static constexpr std::size_t kRunCost = 4;
  // Smaller budgets send more: not for a gain that the model cannot tell from none.
  static constexpr double kWorthwhile = 0.98;

  DistributionSearch& search_;
  Bytes bound_;
  std::optional<DistributionTrial> found_;
  Seconds least_ = 0;
  std::size_t dealt_ = 0;
};

Distribution distribute_within(DistributionSearch& search, std::int32_t processes,
                               Bytes bound) {
  if (processes == 1) return search.least(processes);
  ShortestRun shortest(search, bound);
  const std::vector<double> budgets = search.budgets(processes);
  for (const Bytes level : {bound, kUnlimited, Bytes{0}}) {
    if (level == kUnlimited && bound == kUnlimited) continue;
    for (const bool balanced : {true, false}) {
      for (const double budget : budgets) {
        shortest.consider({processes, budget, balanced, level});
      }
    }
  }
  return shortest.found() ? search.make(*shortest.found()) : search.least(processes);
}

Expected<Distribution> within_bound(Distribution distribution, Bytes bound) {
  const Bytes peak = distribution.largest_peak(), lower = distribution.lower_bound;
  if (peak > bound) {
    const auto reason =
        bound < lower ? Infeasible::Reason::kImpossible : Infeasible::Reason::kNoneFound;
    return tl::unexpected(Infeasible{reason, bound, peak, lower});
  }
  distribution.bound = bound;
  return distribution;
}

}  // namespace

Bytes Distribution::largest_peak() const {
  return peak.empty() ? 0 : *std::ranges::max_element(peak);
}

Expected<Distribution> distribute(const TaskTree& tree,
                                  const DistributionOptions& options) {
  check(options);
  DistributionSearch search(tree, options);
  Distribution found =
      options.kind == DistributedMapping::kProportional
          ? proportional_distribution(search, options.processes)
          : distribute_within(search, options.processes, options.memory_bound);
  return within_bound(std::move(found), options.memory_bound);
}

Distribution distribute_least(const TaskTree& tree, const DistributionOptions& options) {
  check(options);
  DistributionSearch search(tree, options);
  Distribution found = options.kind == DistributedMapping::kProportional
                           ? proportional_distribution(search, options.processes)
                           : search.least(options.processes);
  found.bound = found.largest_peak();
  return found;
}

}  // namespace espalier
