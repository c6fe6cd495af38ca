#include "espalier/sequential/downsets/dominant_schedule.h"

#include <gtest/gtest.h>

#include <functional>

#include "espalier/model/graph_builder.h"
#include "support/exact_graph.h"
#include "support/random_graphs.h"

namespace espalier {
namespace TEST_SOURCE {

using Levels = std::vector<Bytes>;  // valley, hill, valley, …, valley

Levels levels_of(const TaskGraph& graph, const std::vector<TaskId>& order) {
  std::uint32_t done = 0;
  Levels levels = {support::memory_after(graph, 0)};
  for (const TaskId task : order) {
    levels.push_back(support::memory_during(graph, task, done));
    done |= std::uint32_t{1} << index(task);
    levels.push_back(support::memory_after(graph, done));
  }
  return levels;
}

Levels levels_of(const TaskGraph& graph, const std::vector<BlockSegment>& segments) {
  Levels levels = {support::memory_after(graph, 0)};
  for (const BlockSegment& segment : segments) {
    const Bytes start = levels.back();
    levels.push_back(start + segment.peak);
    levels.push_back(start + segment.net);
  }
  return levels;
}

std::vector<TaskId> order_of(const std::vector<BlockSegment>& segments) {
  std::vector<TaskId> order;
  for (const BlockSegment& segment : segments) {
    for (const BlockTaskId task : segment.tasks) {
      order.push_back(static_cast<TaskId>(task));
    }
  }
  return order;
}

// Whether the two can be walked along side by side, a never above b.
bool dominates(const Levels& a, const Levels& b) {
  std::vector<std::vector<bool>> reached(a.size(), std::vector<bool>(b.size(), false));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      const bool from_before = (i == 0 && j == 0) || (i > 0 && reached[i - 1][j]) ||
                               (j > 0 && reached[i][j - 1]) ||
                               (i > 0 && j > 0 && reached[i - 1][j - 1]);
      reached[i][j] = from_before && a[i] <= b[j];
    }
  }
  return reached.back().back();
}

void for_each_order(const TaskGraph& graph,
                    const std::function<void(const std::vector<TaskId>&)>& visit) {
  const std::vector<std::uint32_t> before = support::predecessors(graph);
  std::vector<TaskId> order;
  const std::function<void(std::uint32_t)> extend = [&](std::uint32_t done) {
    if (order.size() == graph.size()) visit(order);
    for (std::size_t i = 0; i < graph.size(); ++i) {
      if ((done >> i & 1) != 0 || (before[i] & ~done) != 0) continue;
      order.push_back(task_id(i));
      extend(done | std::uint32_t{1} << i);
      order.pop_back();
    }
  };
  extend(0);
}

Bytes peak_of(const std::vector<BlockSegment>& segments, Bytes start) {
  Bytes peak = start;
  for (const BlockSegment& segment : segments) {
    peak = std::max(peak, start + segment.peak);
    start += segment.net;
  }
  return peak;
}

// Two inputs of 6 and 5 bytes that shrink to 1 and 2, with workspaces 8 and 1, and are
// joined to 9: the second first, as 11 + 1 + 2 is less than 11 + 8 + 1.
TEST(DominantSchedule, ShrinksTheCheaperInputFirst) {
  TaskGraphBuilder builder;
  const DatumId x = builder.add_datum("x", 6), y = builder.add_datum("y", 5);
  const DatumId small_x = builder.add_datum("small x", 1);
  const DatumId small_y = builder.add_datum("small y", 2);
  const DatumId z = builder.add_datum("z", 9);
  const TaskId a = builder.add_task("a", 8), b = builder.add_task("b", 1);
  const TaskId join = builder.add_task("join");
  builder.reads(a, x);
  builder.writes(a, small_x);
  builder.reads(b, y);
  builder.writes(b, small_y);
  builder.reads(join, small_x);
  builder.reads(join, small_y);
  builder.writes(join, z);
  builder.keep(z);
  const auto segments = dominant_schedule(block_of(std::move(builder).build()));
  ASSERT_TRUE(segments);
  ASSERT_EQ(segments->size(), 3U);
  EXPECT_EQ((*segments)[0].peak, 3);  // b
  EXPECT_EQ((*segments)[0].net, -3);
  EXPECT_EQ((*segments)[1].peak, 9);  // a
  EXPECT_EQ((*segments)[1].net, -5);
  EXPECT_EQ((*segments)[2].peak, 9);  // join
  EXPECT_EQ((*segments)[2].net, 6);
  EXPECT_EQ(order_of(*segments), (std::vector<TaskId>{b, a, join}));
}

TEST(DominantSchedule, DominatesEveryOrderOfSmallBlocks) {
  std::mt19937 random(23);
  for (int instance = 0; instance < 3000; ++instance) {
    const TaskGraph graph = support::varied_graph(random, instance, 6);
    const auto segments = dominant_schedule(block_of(graph));
    ASSERT_TRUE(segments);
    const Levels levels = levels_of(graph, *segments);
    ASSERT_TRUE(dominates(levels, levels_of(graph, order_of(*segments))) &&
                dominates(levels_of(graph, order_of(*segments)), levels))
        << "the segments are not what their tasks do\n"
        << support::describe(graph);
    for_each_order(graph, [&](const std::vector<TaskId>& order) {
      ASSERT_TRUE(dominates(levels, levels_of(graph, order))) << support::describe(graph);
    });
  }
}

TEST(DominantSchedule, HasTheLeastPeakOfAllOrders) {
  std::mt19937 random(24);
  for (int instance = 0; instance < 3000; ++instance) {
    const TaskGraph graph = support::varied_graph(random, instance, 12);
    const auto segments = dominant_schedule(block_of(graph));
    ASSERT_TRUE(segments);
    ASSERT_EQ(peak_of(*segments, graph.initial_bytes()), support::exact_peak(graph))
        << support::describe(graph);
  }
}

TEST(DominantSchedule, FallsToTheLowestLevelWithRisingPeaksAndRisesWithFallingKeys) {
  std::mt19937 random(25);
  for (int instance = 0; instance < 2000; ++instance) {
    const TaskGraph graph = support::varied_graph(random, instance, 14);
    const auto segments = dominant_schedule(block_of(graph));
    ASSERT_TRUE(segments);
    for (std::size_t k = 1; k < segments->size(); ++k) {
      const BlockSegment& a = (*segments)[k - 1];
      const BlockSegment& b = (*segments)[k];
      if (b.net < 0) {
        ASSERT_LT(a.net, 0) << support::describe(graph);
        ASSERT_LT(a.peak, b.peak) << support::describe(graph);
      } else if (a.net >= 0) {
        ASSERT_GT(a.peak - a.net, b.peak - b.net) << support::describe(graph);
      }
    }
  }
}

TEST(DominantSchedule, TakesExtremes) {
  EXPECT_EQ(dominant_schedule(DownsetBlock{})->size(), 0U);
  const auto one =
      dominant_schedule(DownsetBlock{{5}, {{3, BlockTaskId{0}, {}, true}}, {}});
  ASSERT_EQ(one->size(), 1U);
  EXPECT_EQ(one->front().peak, 5);
  EXPECT_EQ(one->front().net, 3);
  DownsetBlock chain;  // more tasks than the bits of a word
  for (std::optional<BlockTaskId> before; chain.size() < 200;) {
    const BlockTaskId task = chain.cost.push_back(static_cast<Bytes>(chain.size() % 7));
    if (before) chain.before.emplace_back(*before, task);
    before = task;
  }
  const auto segments = dominant_schedule(chain);
  ASSERT_TRUE(segments);
  std::size_t tasks = 0;
  for (const BlockSegment& segment : *segments) tasks += segment.tasks.size();
  EXPECT_EQ(tasks, 200U);
  EXPECT_EQ(peak_of(*segments, 0), 6);
}

TEST(DominantSchedule, GivesUpWhenThereAreTooManyDownsets) {
  DownsetBlock antichain;
  antichain.cost.assign(12, 1);
  EXPECT_FALSE(dominant_schedule(antichain, 4095));
  EXPECT_TRUE(dominant_schedule(antichain, 4096));
}

}  // namespace TEST_SOURCE
}  // namespace espalier
