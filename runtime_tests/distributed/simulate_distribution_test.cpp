#include "espalier/distributed/simulate_distribution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "espalier/parallel/admission.h"
#include "espalier/parallel/simulate.h"
#include "parallel/instances.h"
#include "support/random_tree.h"

namespace espalier {
namespace TEST_SOURCE {

constexpr Bytes kMebi = Bytes{1} << 20;

// A root of 2 MiB in two pieces above two leaves of 4 MiB, a leaf on each process.
struct TwoLeaves {
  TaskTree tree = TaskTree(
      std::vector<Task>{{.output_size = 0, .retained_size = 2 * kMebi, .work = 10},
                        {.parent = task_id(0), .output_size = 4 * kMebi, .work = 6},
                        {.parent = task_id(0), .output_size = 4 * kMebi, .work = 8}});
  std::vector<std::int32_t> parts = {2, 1, 1};
  Distribution distribution{.processes = 2,
                            .group = {{0, 2}, {0, 1}, {1, 1}},
                            .witness = {task_id(1), task_id(2), task_id(0)},
                            .first_owner = {0, 2, 3, 4},
                            .owner = {{0, 1}, {1, 1}, {0, 1}, {1, 1}},
                            .peak = {7 * kMebi, 7 * kMebi},
                            .bound = 7 * kMebi};
};

TEST(TaskTraffic, CountsAHandCheckedExample) {
  const TwoLeaves example;
  const Network network{.latency = 1, .bandwidth = double{kMebi}, .flop_rate = 1};
  const auto traffic =
      task_traffic(example.tree, example.distribution, network, FrontCut::kBlocks);
  // Half of each leaf's output moves, and the panel is copied to the other process.
  EXPECT_EQ(traffic[0].volume, (2 + 2 + 2) * kMebi);
  // One message each way; the panel in its two blocks to one other process.
  EXPECT_EQ(traffic[0].messages, 2 + 2);
  // 1 + 2 s for the outputs; two columns of blocks, 1 s each, and 1 MiB to each process.
  EXPECT_DOUBLE_EQ(traffic[0].time, (1 + 2) + (2 * 1 + 1));
  EXPECT_EQ(traffic[1].volume, 0);
  EXPECT_EQ(traffic[2].messages, 0);
}

TEST(TaskTraffic, OfBlockColumnsGrowsWithTheProcesses) {
  const TaskTree tree(std::vector<Task>{{.retained_size = 64 * kMebi, .work = 1}});
  const std::vector<std::int32_t> parts = {64};
  for (std::int32_t processes : {1, 2, 4, 16}) {
    const DistributionOptions options{.processes = processes, .most_parts = parts};
    const Distribution d = distribute_least(tree, options);
    const auto q = static_cast<Bytes>(d.owners(task_id(0)).size());
    const auto columns = task_traffic(tree, d, {}, FrontCut::kColumns);
    const auto blocks = task_traffic(tree, d, {}, FrontCut::kBlocks);
    EXPECT_EQ(columns[0].volume, 64 * kMebi * (q - 1));
    EXPECT_LE(blocks[0].volume, columns[0].volume);
    if (q == 16) {
      EXPECT_EQ(blocks[0].volume, 64 * kMebi * 6);
    }
  }
}

TEST(SimulateDistribution, AnswersAHandCheckedExample) {
  const TwoLeaves example;
  const DistributionOptions options{
      .processes = 2,
      .most_parts = example.parts,
      .network = {.latency = 1, .bandwidth = double{kMebi}, .flop_rate = 1}};
  const DistributedRun run =
      simulate_distribution(example.tree, example.distribution, options);
  // The longer leaf 8, traffic 6, half of the root on each process 5.
  EXPECT_DOUBLE_EQ(run.makespan, 8 + 6 + 5);
  EXPECT_EQ(run.peak, (std::vector<Bytes>{7 * kMebi, 7 * kMebi}));
  EXPECT_EQ(run.volume, 6 * kMebi);
  EXPECT_EQ(run.shared_work, 10);
  EXPECT_EQ(run.work, 24);
  EXPECT_EQ(run.lower_bounds.work, 12);
}

// A leaf without output on one process, its parent on the other; and one byte of output
// in two pieces, of which one process has nothing.
TEST(SimulateDistribution, WaitsForChildrenThatLeaveNothing) {
  for (const std::int32_t pieces : {1, 2}) {
    const TaskTree tree(std::vector<Task>{{.output_size = 3, .work = 8},
                                          {.parent = task_id(0),
                                           .output_size = pieces - 1,
                                           .retained_size = 2,
                                           .work = 8}});
    Distribution distribution{.processes = 2,
                              .group = {{0, 2}, {0, pieces}},
                              .witness = {task_id(1), task_id(0)},
                              .first_owner = {0, 1, 2},
                              .owner = {{1, 1}, {0, 1}},
                              .peak = {6, 6},
                              .bound = 6};
    if (pieces == 2) {
      distribution.owner = {{1, 1}, {0, 1}, {1, 1}};
      distribution.first_owner = {0, 1, 3};
    }
    const std::vector<std::int32_t> parts = {1, pieces};
    const DistributionOptions options{
        .processes = 2, .workers = 2, .most_parts = parts, .network = {.latency = 0}};
    const DistributedRun run = simulate_distribution(tree, distribution, options);
    EXPECT_GE(run.makespan, 8 + 8 / pieces);
    EXPECT_GE(run.makespan, run.lower_bounds.best());
  }
}

TEST(SimulateDistribution, OnOneProcessIsTheSimulationInLiusOrder) {
  std::mt19937 random(1);
  for (int instance = 0; instance < 100; ++instance) {
    const TaskTree tree = support::varied_tree(random, instance, 15);
    const DistributionOptions options{.processes = 1, .workers = 1 + instance % 4};
    const Distribution d = distribute_least(tree, options);
    const DistributedRun run = simulate_distribution(tree, d, options);
    BookingAdmission admission(tree, d.witness, d.bound);
    // A task can use as many workers as it has pieces: one.
    const Simulation expected = simulate(
        tree, admission, {.workers = options.workers, .max_workers = {}, .priority = {}});
    EXPECT_DOUBLE_EQ(run.makespan, expected.makespan) << support::describe(tree);
    EXPECT_EQ(run.peak, std::vector<Bytes>{expected.peak});
    EXPECT_EQ(run.volume, 0);
    EXPECT_EQ(run.messages, 0);
  }
}

TEST(SimulateDistribution, KeepsTheBoundAndTheLowerBound) {
  std::mt19937 random(2);
  for (int instance = 0; instance < 90; ++instance) {
    const TaskTree tree = support::varied_tree(random, instance, 25);
    std::vector<std::int32_t> parts(tree.size());
    for (std::int32_t& count : parts) count = 1 + static_cast<std::int32_t>(random() % 9);
    DistributionOptions options{
        .processes = 1 + instance % 6, .workers = 1 + instance % 3, .most_parts = parts};
    const Bytes least = distribute_least(tree, options).bound;
    options.memory_bound = least + least / 10;
    const auto d = distribute(tree, options);
    ASSERT_TRUE(d);
    const RunsByCut both = simulate_cuts(tree, *d, options);
    for (const FrontCut cut : {FrontCut::kBlocks, FrontCut::kColumns}) {
      const DistributedRun run = simulate_distribution(tree, *d, options, cut);
      const DistributedRun& same = cut == FrontCut::kBlocks ? both.blocks : both.columns;
      EXPECT_EQ(run.makespan, same.makespan);
      EXPECT_EQ(run.volume, same.volume);
      EXPECT_EQ(run.messages, same.messages);
      EXPECT_EQ(run.peak, same.peak);
      for (const Bytes peak : run.peak) EXPECT_LE(peak, options.memory_bound);
      EXPECT_GE(run.makespan * (1 + 1e-9), run.lower_bounds.best())
          << support::describe(tree);
    }
  }
}

TEST(SimulateDistribution, RefusesANetworkThatCannotBe) {
  const TwoLeaves example;
  for (const Network& network :
       {Network{.latency = -1}, Network{.bandwidth = 0}, Network{.flop_rate = -1}}) {
    EXPECT_THROW((void)simulate_distribution(example.tree, example.distribution,
                                             {.processes = 2, .network = network}),
                 InvalidInput);
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier
