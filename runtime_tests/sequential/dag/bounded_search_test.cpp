#include "espalier/sequential/dag/bounded_search.h"

#include <gtest/gtest.h>

#include "espalier/model/replay_graph.h"
#include "espalier/sequential/downsets/lowest_downset.h"
#include "support/exact_graph.h"
#include "support/random_graphs.h"

namespace espalier {
namespace TEST_SOURCE {

using Direction = DownsetWalk::Direction;

std::vector<TaskId> as_tasks(const std::vector<BlockTaskId>& order) {
  std::vector<TaskId> tasks;
  for (const BlockTaskId task : order) tasks.push_back(static_cast<TaskId>(task));
  return tasks;
}

void expect_answer(const TaskGraph& graph, Bytes bound, Bytes least,
                   Direction direction) {
  const BlockIndex block(block_of(graph));
  const BoundedOrder found = bounded_search(block, bound, direction, {});
  if (bound >= least) {
    ASSERT_EQ(found.answer, BoundedOrder::Answer::kFits) << "bound " << bound << "\n"
                                                         << support::describe(graph);
    ASSERT_LE(replay(graph, as_tasks(found.order)).peak, bound)
        << support::describe(graph);
  } else {
    ASSERT_EQ(found.answer, BoundedOrder::Answer::kImpossible)
        << "bound " << bound << "\n"
        << support::describe(graph);
    ASSERT_GT(found.least_bytes, bound) << support::describe(graph);
    ASSERT_LE(found.least_bytes, least) << support::describe(graph);
  }
}

TEST(BoundedSearch, AgreesWithBruteForceAtEveryBound) {
  std::mt19937 random(41);
  for (int instance = 0; instance < 4000; ++instance) {
    const TaskGraph graph = support::varied_graph(random, instance, 12);
    const Bytes least = support::exact_peak(graph);
    for (Bytes bound = std::max<Bytes>(0, least - 8); bound <= least + 2; ++bound) {
      for (const Direction direction : {Direction::kForwards, Direction::kBackwards}) {
        expect_answer(graph, bound, least, direction);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

// Data that are read late and by many: rules that hold for trees alone fail here.
TEST(BoundedSearch, AgreesWithBruteForceOnDenseGraphs) {
  std::mt19937 random(42);
  for (int instance = 0; instance < 2000; ++instance) {
    const TaskGraph graph = support::random_graph(random, {.tasks = 13,
                                                           .largest_size = 5,
                                                           .most_inputs = 4,
                                                           .most_outputs = 3,
                                                           .external = 4,
                                                           .keep_probability = 0.02});
    const Bytes least = support::exact_peak(graph);
    for (const Bytes bound : {least - 2, least - 1, least}) {
      for (const Direction direction : {Direction::kForwards, Direction::kBackwards}) {
        expect_answer(graph, bound, least, direction);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(BoundedSearch, SaysWhenALimitIsMet) {
  DownsetBlock antichain;  // each task leaves 1 byte and one may reach 40 over its level
  for (std::int32_t i = 0; i < 20; ++i) {
    const BlockTaskId task = antichain.cost.push_back(i == 0 ? 40 : 2 + i % 3);
    antichain.data.push_back({1, task, {BlockTaskId{20}}, false});
  }
  antichain.cost.push_back(30);
  const BlockIndex block(antichain);
  const auto found = bounded_search(block, 39, Direction::kForwards, {.states = 5});
  EXPECT_EQ(found.answer, BoundedOrder::Answer::kUnknown);
  int asked = 0;
  const auto stopped = bounded_search(block, 39, Direction::kForwards,
                                      {.stop = [&asked] { return ++asked > 3; }});
  EXPECT_EQ(stopped.answer, BoundedOrder::Answer::kUnknown);
}

TEST(BoundedSearch, TakesABlockWithoutTasks) {
  const BlockIndex block{DownsetBlock{}};
  EXPECT_EQ(bounded_search(block, 0, Direction::kForwards, {}).answer,
            BoundedOrder::Answer::kFits);
}

TEST(LowestDownset, MatchesBruteForceBetweenAnyTwoDownsets) {
  std::mt19937 random(43);
  for (int instance = 0; instance < 3000; ++instance) {
    const TaskGraph graph = support::varied_graph(random, instance, 11);
    const BlockIndex block(block_of(graph));
    const auto order = support::random_order(graph, random);
    std::uniform_int_distribution<std::size_t> cut(0, order.size());
    std::size_t a = cut(random), b = cut(random);
    if (a > b) std::swap(a, b);
    std::uint32_t lower = 0, upper = 0;
    std::vector<BlockTaskId> tasks;
    for (std::size_t k = 0; k < b; ++k) {
      upper |= std::uint32_t{1} << index(order[k]);
      if (k < a) lower = upper;
      if (k >= a) tasks.push_back(BlockTaskId{static_cast<std::int32_t>(order[k])});
    }
    const auto before = support::predecessors(graph);
    Bytes least = support::memory_after(graph, lower);
    for (std::uint32_t set = lower; set <= upper; ++set) {
      bool is_downset = (set & lower) == lower && (set & ~upper) == 0;
      for (std::size_t i = 0; i < graph.size(); ++i) {
        if ((set >> i & 1) != 0 && (before[i] & ~set) != 0) is_downset = false;
      }
      if (is_downset) least = std::min(least, support::memory_after(graph, set));
    }
    const auto unread_above = [&](BlockDatumId datum) {
      std::int32_t unread = 0;
      for (const BlockTaskId reader : block.readers(datum)) {
        if ((upper >> index(reader) & 1) == 0) ++unread;
      }
      return unread;
    };
    std::uint32_t found[2] = {lower, lower};
    LowestDownset lowest(block);
    for (const bool largest : {false, true}) {
      for (const BlockTaskId task : lowest.between({tasks, unread_above}, largest)) {
        found[largest ? 1 : 0] |= std::uint32_t{1} << index(task);
      }
      ASSERT_EQ(support::memory_after(graph, found[largest ? 1 : 0]), least)
          << support::describe(graph);
    }
    ASSERT_EQ(found[0] & ~found[1], 0U) << support::describe(graph);
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier
