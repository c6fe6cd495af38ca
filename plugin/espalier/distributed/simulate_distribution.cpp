#include "espalier/distributed/simulate_distribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "espalier/distributed/distributed_admission.h"
#include "espalier/distributed/part_trees.h"
#include "espalier/distributed/task_cut.h"
#include "espalier/distributed/task_overflow.h"
#include "espalier/parallel/bounds.h"
#include "espalier/parallel/simulate.h"

namespace espalier {
namespace {

void check(const Network& network) {
  const auto positive = [](std::string_view what, double value) {
    if (value > 0 && std::isfinite(value)) return;
    throw InvalidInput(fmt::format("{} of {}: it must be positive", what, value));
  };
  positive("a bandwidth", network.bandwidth);
  positive("a flop rate", network.flop_rate);
  if (network.latency >= 0 && std::isfinite(network.latency)) return;
  throw InvalidInput(fmt::format("a latency of {}", network.latency));
}

std::vector<double> useful_workers_of(const TaskTree& tree,
                                      const DistributionOptions& options) {
  std::vector<double> useful = useful_workers(tree, options.max_workers);
  const std::vector<std::int32_t> counts = piece_counts(tree, options.most_parts);
  for (std::size_t i = 0; i < useful.size(); ++i) {
    useful[i] = std::max<double>(useful[i], counts[i]);
  }
  return useful;
}

std::int32_t all_workers(const DistributionOptions& options) {
  const auto all = static_cast<std::int64_t>(options.processes) * options.workers;
  return static_cast<std::int32_t>(
      std::min<std::int64_t>(all, std::numeric_limits<std::int32_t>::max()));
}

// The path to the root when each task has all workers of its group.
std::vector<Seconds> priorities(const TaskTree& tree, const Distribution& distribution,
                                const DistributionOptions& options,
                                std::vector<double> useful) {
  for (std::size_t i = 0; i < useful.size(); ++i) {
    const double group = distribution.group[i].count;
    useful[i] = std::min(useful[i], group * options.workers);
  }
  return root_path_times(tree, all_workers(options), useful);
}

/// What runs of one distribution have in common.
class DistributionRuns {
 public:
  DistributionRuns(const TaskTree& tree, const Distribution& distribution,
                   const DistributionOptions& options)
      : tree_(tree),
        distribution_(distribution),
        options_(options),
        processes_(part_trees(tree, distribution)),
        forest_(processes_) {
    const std::vector<double> useful = useful_workers_of(tree, options);
    const std::vector<Seconds> priority = priorities(tree, distribution, options, useful);
    useful_.reserve(forest_.tree().size());
    priority_.reserve(forest_.tree().size());
    for (std::size_t k = 0; k < forest_.tree().size(); ++k) {
      const TaskId part = task_id(k);
      const TaskId task = forest_.task(part);
      // Work is in proportion to pieces.
      const Flops whole = tree.work(task);
      const double share = whole > 0 ? forest_.tree().work(part) / whole : 1;
      useful_.push_back(std::max(1.0, share * useful[index(task)]));
      priority_.push_back(priority[index(task)]);
    }
    all_.lower_bounds = lower_bounds(tree, all_workers(options), std::nullopt, useful);
    for (const TaskId task : tree.postorder()) {
      all_.work += tree.work(task);
      if (distribution.shared(task)) all_.shared_work += tree.work(task);
    }
  }

  [[nodiscard]] std::vector<Traffic> traffic(FrontCut cut) const {
    return task_traffic(tree_, distribution_, options_.network, cut);
  }

  [[nodiscard]] DistributedRun run(const std::vector<Traffic>& traffic) const {
    DistributedRun run = all_;
    for (const TaskId task : tree_.postorder()) {
      naming(task,
             [&] { run.volume = checked_add(run.volume, traffic[index(task)].volume); });
      run.messages += traffic[index(task)].messages;
    }
    std::vector<Seconds> delay(forest_.tree().size());
    for (std::size_t k = 0; k < delay.size(); ++k) {
      const TaskId task = forest_.task(task_id(k));
      delay[k] = traffic[index(task)].time * options_.network.flop_rate;
    }
    DistributedAdmission admission(processes_, forest_, distribution_.bound);
    Simulation simulation = simulate(forest_.tree(), admission,
                                     {.workers = options_.workers,
                                      .max_workers = useful_,
                                      .priority = priority_,
                                      .pool = forest_.process(),
                                      .pools = distribution_.processes,
                                      .delay = delay});
    run.makespan = simulation.makespan;
    run.peak = std::move(simulation.pool_peak);
    return run;
  }

 private:
  const TaskTree& tree_;
  const Distribution& distribution_;
  const DistributionOptions& options_;
  std::vector<PartTree> processes_;
  PartForest forest_;
  std::vector<double> useful_;     // by part
  std::vector<Seconds> priority_;  // by part
  DistributedRun all_;             // what does not depend on the traffic
};

}  // namespace

DistributedRun simulate_distribution(const TaskTree& tree,
                                     const Distribution& distribution,
                                     const DistributionOptions& options, FrontCut cut) {
  check(options.network);
  const DistributionRuns runs(tree, distribution, options);
  return runs.run(runs.traffic(cut));
}

RunsByCut simulate_cuts(const TaskTree& tree, const Distribution& distribution,
                        const DistributionOptions& options) {
  check(options.network);
  const DistributionRuns runs(tree, distribution, options);
  const std::vector<Traffic> blocks = runs.traffic(FrontCut::kBlocks);
  const std::vector<Traffic> columns = runs.traffic(FrontCut::kColumns);
  RunsByCut result;
  result.blocks = runs.run(blocks);
  result.columns = blocks == columns ? result.blocks : runs.run(columns);
  return result;
}

}  // namespace espalier
