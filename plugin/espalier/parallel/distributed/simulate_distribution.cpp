#include "espalier/parallel/distributed/simulate_distribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "espalier/parallel/bounds.h"
#include "espalier/parallel/distributed/distributed_admission.h"
#include "espalier/parallel/distributed/part_trees.h"
#include "espalier/parallel/distributed/task_cut.h"
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
std::vector<Flops> priorities(const TaskTree& tree, const Distribution& distribution,
                              const DistributionOptions& options,
                              std::vector<double> useful) {
  for (std::size_t i = 0; i < useful.size(); ++i) {
    const double group = distribution.group[i].count;
    useful[i] = std::min(useful[i], group * options.workers);
  }
  return root_path_times(tree, all_workers(options), useful);
}

// What the simulation is told of each part.
struct PartFacts {
  std::vector<double> useful;
  std::vector<Flops> priority;
  std::vector<Seconds> delay;
};

PartFacts part_facts(const TaskTree& tree, const Distribution& distribution,
                     const DistributionOptions& options, const PartForest& forest,
                     const std::vector<Traffic>& traffic) {
  const std::vector<double> useful = useful_workers_of(tree, options);
  const std::vector<Flops> priority = priorities(tree, distribution, options, useful);
  PartFacts facts;
  for (std::size_t k = 0; k < forest.tree().size(); ++k) {
    const TaskId part = task_id(k);
    const TaskId task = forest.task(part);
    // Work is in proportion to pieces.
    const Flops whole = tree.work(task);
    const double share = whole > 0 ? forest.tree().work(part) / whole : 1;
    facts.useful.push_back(std::max(1.0, share * useful[index(task)]));
    facts.priority.push_back(priority[index(task)]);
    facts.delay.push_back(traffic[index(task)].time * options.network.flop_rate);
  }
  return facts;
}

}  // namespace

DistributedRun simulate_distribution(const TaskTree& tree,
                                     const Distribution& distribution,
                                     const DistributionOptions& options, FrontCut cut) {
  check(options.network);
  const std::vector<PartTree> processes = part_trees(tree, distribution);
  const PartForest forest(processes);
  const std::vector<Traffic> traffic =
      task_traffic(tree, distribution, options.network, cut);
  const PartFacts facts = part_facts(tree, distribution, options, forest, traffic);
  DistributedAdmission admission(processes, forest, distribution.bound);
  Simulation simulation = simulate(forest.tree(), admission,
                                   {.workers = options.workers,
                                    .max_workers = facts.useful,
                                    .priority = facts.priority,
                                    .pool = forest.process(),
                                    .pools = distribution.processes,
                                    .delay = facts.delay});
  DistributedRun run;
  run.makespan = simulation.makespan;
  run.peak = std::move(simulation.pool_peak);
  for (const TaskId task : tree.postorder()) {
    run.volume = checked_add(run.volume, traffic[index(task)].volume);
    run.messages += traffic[index(task)].messages;
    run.work += tree.work(task);
    if (distribution.shared(task)) run.shared_work += tree.work(task);
  }
  run.lower_bounds = lower_bounds(tree, all_workers(options), std::nullopt,
                                  useful_workers_of(tree, options));
  return run;
}

}  // namespace espalier
