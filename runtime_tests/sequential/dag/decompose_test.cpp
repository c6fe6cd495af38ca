#include "espalier/sequential/dag/decompose.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "espalier/model/graph_builder.h"
#include "espalier/model/replay.h"
#include "espalier/model/replay_graph.h"
#include "espalier/sequential/dag/greedy_order.h"
#include "espalier/sequential/dag/linearise.h"
#include "espalier/sequential/dag/memory_lower_bound.h"
#include "espalier/sequential/dag/post_dominators.h"
#include "espalier/sequential/downsets/dominant_schedule.h"
#include "espalier/sequential/tree/in_forest.h"
#include "support/exact_graph.h"
#include "support/random_graphs.h"

namespace espalier {
namespace TEST_SOURCE {

constexpr DownsetWalk::Direction kBoth[] = {DownsetWalk::Direction::kForwards,
                                            DownsetWalk::Direction::kBackwards};

// Tasks that can be reached from each one, itself included, a bit each.
std::vector<std::uint32_t> reach_of(const BlockIndex& block) {
  std::vector<std::uint32_t> reach(block.size());
  auto order = block.topological_order();
  std::reverse(order.begin(), order.end());
  for (const BlockTaskId task : order) {
    const auto i = static_cast<std::size_t>(task);
    reach[i] = std::uint32_t{1} << i;
    for (const BlockTaskId after : block.successors(task)) {
      reach[i] |= reach[static_cast<std::size_t>(after)];
    }
  }
  return reach;
}

std::vector<TaskId> expanded(const LinearisedBlock& linearised,
                             const std::vector<BlockTaskId>& order) {
  std::vector<TaskId> tasks;
  for (const BlockTaskId task : order) {
    for (const BlockTaskId of : linearised.tasks[task]) {
      tasks.push_back(static_cast<TaskId>(of));
    }
  }
  return tasks;
}

// Least peak of a block by the dominant schedule of all of it.
Bytes least_peak_of(const DownsetBlock& block) {
  Bytes level = BlockIndex(block).start_level(), peak = level;
  const auto segments = dominant_schedule(block, 1 << 20);
  for (const BlockSegment& segment : *segments) {
    peak = std::max(peak, level + segment.peak);
    level += segment.net;
  }
  return peak;
}

TEST(Decompose, ConsecutivePartsAreCutWhereAllTasksMeet) {
  std::mt19937 random(61);
  for (int instance = 0; instance < 2000; ++instance) {
    const TaskGraph graph = support::varied_graph(random, instance, 14);
    const BlockIndex block(block_of(graph));
    const auto reach = reach_of(block);
    std::size_t separators = 0, parts = 0, tasks = 0;
    for (std::size_t i = 0; i < block.size(); ++i) {
      std::size_t comparable = 0;
      for (std::size_t j = 0; j < block.size(); ++j) {
        if ((reach[i] >> j & 1) != 0 || (reach[j] >> i & 1) != 0) ++comparable;
      }
      if (comparable == block.size()) ++separators;
    }
    for (const TaskSet& part : consecutive_parts(block)) {
      ++parts;
      tasks += part.size();
    }
    ASSERT_EQ(tasks, graph.size());
    ASSERT_GE(parts, separators) << support::describe(graph);
    ASSERT_LE(parts, 2 * separators + 1) << support::describe(graph);
  }
}

TEST(Decompose, IndependentPartsShareNothingThatIsFreed) {
  std::mt19937 random(62);
  for (int instance = 0; instance < 2000; ++instance) {
    const TaskGraph graph = support::varied_graph(random, instance, 14);
    const auto parts = independent_parts(BlockIndex(block_of(graph)));
    std::vector<std::size_t> part_of(graph.size(), parts.size());
    for (std::size_t p = 0; p < parts.size(); ++p) {
      for (const BlockTaskId task : parts[p]) {
        part_of[static_cast<std::size_t>(task)] = p;
      }
    }
    for (std::size_t d = 0; d < graph.data(); ++d) {
      const DatumId datum = datum_id(d);
      const auto producer = graph.producer(datum);
      for (const TaskId reader : graph.consumers(datum)) {
        const TaskId other = producer ? *producer : graph.consumers(datum).front();
        if (!producer && graph.stays(datum)) continue;
        ASSERT_EQ(part_of[index(reader)], part_of[index(other)])
            << support::describe(graph);
      }
    }
  }
}

TEST(Decompose, ProfilesHaveTheLeastPeak) {
  std::mt19937 random(63);
  for (int instance = 0; instance < 4000; ++instance) {
    const TaskGraph graph = instance % 2 == 0
                                ? support::varied_graph(random, instance, 12)
                                : support::series_parallel_graph(random, 13, 0.2);
    std::vector<TaskId> names(graph.size()), next(graph.size());
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = task_id(i);
    const auto profile = dominant_profile(block_of(graph), names, next);
    ASSERT_TRUE(profile);
    const Segment all = whole(*profile, next);
    const Bytes start = graph.initial_bytes();
    ASSERT_EQ(start + std::max<Bytes>(0, all.peak), support::exact_peak(graph))
        << support::describe(graph);
    ASSERT_EQ(start + all.net, graph.final_bytes());
    ASSERT_EQ(replay(graph, rope(all, next)).peak, support::exact_peak(graph));
  }
}

TEST(Linearise, KeepsTheLeastPeak) {
  std::mt19937 random(64);
  std::size_t before = 0, after = 0;
  for (int instance = 0; instance < 6000; ++instance) {
    const TaskGraph graph = support::series_parallel_graph(
        random, 4 + static_cast<std::size_t>(instance) % 10,
        instance % 3 == 0 ? 0 : 0.25);
    const LinearisedBlock linearised = linearise(block_of(graph));
    ASSERT_EQ(least_peak_of(linearised.block), support::exact_peak(graph))
        << support::describe(graph);
    before += graph.size();
    after += linearised.block.size();
    // Any order of the result is one of the graph, of the same peak.
    const BlockIndex block(linearised.block);
    for (const auto direction : kBoth) {
      const auto order = greedy_order(block, direction, GreedyRule::kLeastCost);
      ASSERT_EQ(replay(graph, expanded(linearised, order)).peak,
                cost_of(block, order).peak)
          << support::describe(graph);
    }
  }
  EXPECT_LT(3 * after, 2 * before);
}

TEST(Linearise, KeepsTheLeastPeakOfAnyGraph) {
  std::mt19937 random(65);
  for (int instance = 0; instance < 6000; ++instance) {
    const TaskGraph graph = support::varied_graph(random, instance, 12);
    LineariseLimits limits{.tasks = 6, .downsets = 12};
    if (instance % 3 == 0)
      limits.stop = [left = instance % 4]() mutable { return left-- <= 0; };
    const LinearisedBlock linearised = linearise(block_of(graph), limits);
    ASSERT_EQ(least_peak_of(linearised.block), support::exact_peak(graph))
        << support::describe(graph);
  }
}

TEST(PostDominators, MatchTheDefinition) {
  std::mt19937 random(66);
  for (int instance = 0; instance < 2000; ++instance) {
    const TaskGraph graph = support::varied_graph(random, instance, 14);
    const BlockIndex block(block_of(graph));
    const auto found = post_dominators(block);
    const auto reach = reach_of(block);
    for (std::size_t i = 0; i < block.size(); ++i) {
      // j is on all ways from i: without j, no end can be reached.
      std::int32_t nearest = -1;
      for (std::size_t j = 0; j < block.size(); ++j) {
        if (i == j || (reach[i] >> j & 1) == 0) continue;
        std::uint32_t seen = 0;
        std::vector<std::size_t> stack = {i};
        bool reaches_an_end = false;
        while (!stack.empty()) {
          const std::size_t at = stack.back();
          stack.pop_back();
          if (at == j || (seen >> at & 1) != 0) continue;
          seen |= std::uint32_t{1} << at;
          const auto next = block.successors(BlockTaskId{static_cast<std::int32_t>(at)});
          reaches_an_end = reaches_an_end || next.empty();
          for (const BlockTaskId after : next) stack.push_back(index(after));
        }
        const auto candidate = static_cast<std::int32_t>(j);
        if (!reaches_an_end && (nearest < 0 || (reach[j] >> nearest & 1) != 0)) {
          nearest = candidate;
        }
      }
      ASSERT_EQ(found[BlockTaskId{static_cast<std::int32_t>(i)}], BlockTaskId{nearest})
          << "task " << i << "\n"
          << support::describe(graph);
    }
  }
}

TEST(MemoryLowerBound, NeverExceedsTheOptimum) {
  std::mt19937 random(67);
  int met = 0;
  for (int instance = 0; instance < 4000; ++instance) {
    const TaskGraph graph = support::varied_graph(random, instance, 12);
    const BlockIndex block(block_of(graph));
    const Bytes least = support::exact_peak(graph);
    ASSERT_LE(memory_lower_bound(block), least) << support::describe(graph);
    ASSERT_LE(memory_lower_bound(block, 0), memory_lower_bound(block))
        << support::describe(graph);
    if (memory_lower_bound(block) == least) ++met;
  }
  EXPECT_GT(met, 2000);  // else it is of little use
}

TEST(GreedyOrder, CostsWhatReplaySays) {
  std::mt19937 random(68);
  for (int instance = 0; instance < 1000; ++instance) {
    const TaskGraph graph = support::varied_graph(random, instance, 30);
    const BlockIndex block(block_of(graph));
    for (const auto direction : kBoth) {
      for (const GreedyRule rule :
           {GreedyRule::kLeastChange, GreedyRule::kLatest, GreedyRule::kLeastCost}) {
        const auto order = greedy_order(block, direction, rule);
        std::vector<TaskId> tasks;
        for (const BlockTaskId task : order) tasks.push_back(static_cast<TaskId>(task));
        ASSERT_EQ(replay(graph, tasks).peak, cost_of(block, order).peak)
            << support::describe(graph);
      }
    }
  }
}

TEST(InForest, HasThePeaksOfTheGraph) {
  std::mt19937 random(69);
  int trees = 0;
  for (int instance = 0; instance < 4000; ++instance) {
    const TaskGraph graph = support::random_graph(random, {.tasks = 8,
                                                           .most_inputs = 2,
                                                           .most_outputs = 1,
                                                           .external = 0,
                                                           .single_reader = true});
    const auto tree = in_forest(graph);
    if (!tree) continue;
    ++trees;
    const auto order = support::random_order(graph, random);
    ASSERT_EQ(replay(*tree, order).peak, replay(graph, order).peak)
        << support::describe(graph);
  }
  EXPECT_GT(trees, 1000);
}

TEST(InForest, SaysNoToADatumWithTwoReaders) {
  TaskGraphBuilder builder;
  const DatumId x = builder.add_datum("x", 1);
  const TaskId a = builder.add_task("a"), b = builder.add_task("b");
  const TaskId c = builder.add_task("c");
  builder.writes(a, x);
  builder.reads(b, x);
  builder.reads(c, x);
  EXPECT_FALSE(in_forest(std::move(builder).build()));
}

}  // namespace TEST_SOURCE
}  // namespace espalier
