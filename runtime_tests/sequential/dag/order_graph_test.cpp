#include "espalier/sequential/dag/order_graph.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "espalier/model/graph_builder.h"
#include "espalier/model/replay_graph.h"
#include "espalier/model/validate_graph.h"
#include "espalier/sequential/dag/bounded_search.h"
#include "espalier/sequential/dag/greedy_order.h"
#include "espalier/sequential/dag/least_peak.h"
#include "espalier/sequential/dag/linearise.h"
#include "espalier/sequential/dag/memory_lower_bound.h"
#include "espalier/sequential/downsets/lowest_downset.h"
#include "support/exact_graph.h"
#include "support/network_graphs.h"
#include "support/random_graphs.h"

namespace espalier {
namespace TEST_SOURCE {

void expect_best(const TaskGraph& graph) {
  const GraphOrder found = order_graph(graph);
  ASSERT_TRUE(found.proved()) << support::describe(graph);
  ASSERT_EQ(found.least_bytes, support::exact_peak(graph)) << support::describe(graph);
  ASSERT_EQ(validate(graph, Traversal{found.order, found.least_bytes}), Violations())
      << support::describe(graph);
}

// An out-tree of which two orders are tried by hand: x (5) is read by a and b. a leaves 1
// byte and needs 6 more while it runs, b leaves 4 and needs 1 more.
//   a first: 5 + 6 + 1 = 12, then 5 + 1 + 4 + 1 = 11;  b first: 10, then 5 + 4 + 6 + 1 =
//   16
TEST(OrderGraph, SharesADatumBetweenTwoReaders) {
  TaskGraphBuilder builder;
  const DatumId x = builder.add_datum("x", 5);
  const DatumId left = builder.add_datum("left", 1),
                right = builder.add_datum("right", 4);
  const TaskId b = builder.add_task("b", 1), a = builder.add_task("a", 6);
  for (const TaskId task : {a, b}) builder.reads(task, x);
  builder.writes(a, left);
  builder.writes(b, right);
  builder.keep(left);
  builder.keep(right);
  const GraphOrder found = order_graph(std::move(builder).build());
  EXPECT_EQ(found.least_bytes, 12);
  EXPECT_TRUE(found.proved());
  EXPECT_EQ(found.gap(), 0);
  EXPECT_EQ(found.order, (std::vector<TaskId>{a, b}));
}

TEST(OrderGraph, MatchesBruteForceOnSmallGraphs) {
  std::mt19937 random(51);
  for (int instance = 0; instance < 24000; ++instance) {
    expect_best(support::varied_graph(random, instance, 12));
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(OrderGraph, MatchesBruteForceOnSmallSeriesParallelGraphs) {
  std::mt19937 random(52);
  for (int instance = 0; instance < 4000; ++instance) {
    expect_best(support::series_parallel_graph(
        random, 3 + static_cast<std::size_t>(instance) % 11, instance % 2 * 0.2));
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(OrderGraph, MatchesBruteForceOnSmallOutTrees) {
  std::mt19937 random(53);
  for (int instance = 0; instance < 3000; ++instance) {
    expect_best(support::random_graph(random, {.tasks = 12,
                                               .most_inputs = 1,
                                               .most_outputs = 1,
                                               .external = 0,
                                               .keep_probability = 0.3}));
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(OrderGraph, ProvesTheOrdersOfNetworks) {
  for (const support::NamedNetwork& network : support::networks()) {
    for (const bool training : {false, true}) {
      const TaskGraph graph = network.make().graph(training);
      const GraphOrder found = order_graph(graph, {.states = 200'000});
      EXPECT_TRUE(found.proved()) << network.name << ", training: " << training;
      EXPECT_LE(found.least_bytes, replay(graph, graph.topological_order()).peak);
      EXPECT_EQ(validate(graph, Traversal{found.order, found.least_bytes}), Violations());
    }
  }
}

// Wide layers cannot be decomposed and their optimum is out of reach.
TaskGraph layers(std::size_t layers, std::size_t width) {
  std::mt19937 random(54);
  return support::layered_graph(random, layers * width, width, 100);
}

TEST(OrderGraph, TellsTheGapWhenALimitIsMet) {
  const TaskGraph graph = layers(12, 25);
  const GraphOrder found = order_graph(graph, {.states = 3000});
  EXPECT_FALSE(found.proved());
  EXPECT_TRUE(found.stopped);
  EXPECT_GT(found.gap(), 0);
  EXPECT_LT(found.lower_bound_bytes, found.least_bytes);
  EXPECT_LE(found.least_bytes, replay(graph, graph.topological_order()).peak);
  EXPECT_EQ(validate(graph, Traversal{found.order, found.least_bytes}), Violations());
  const GraphOrder again = order_graph(graph, {.states = 3000});
  EXPECT_EQ(found.order, again.order);
}

TEST(OrderGraph, StopsWhenItsCallerSaysSo) {
  const TaskGraph graph = layers(12, 25);
  int calls = 0;
  Bytes best = 0, bound = 0;
  const GraphOrder found =
      order_graph(graph, {.progress = [&](const OrderProgress& progress) {
                    best = progress.best_bytes;
                    bound = progress.lower_bound_bytes;
                    return ++calls < 2;
                  }});
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(found.stopped);
  EXPECT_GE(best, found.least_bytes);
  EXPECT_LE(bound, found.lower_bound_bytes);
  EXPECT_EQ(validate(graph, Traversal{found.order, found.least_bytes}), Violations());
}

// Every phase asks; what none has improved is the order that was given.
TEST(OrderGraph, SearchesNothingWithoutTime) {
  const TaskGraph graph = layers(12, 25);
  const GraphOrder found = order_graph(graph, {.time = 0});
  EXPECT_TRUE(found.stopped);
  EXPECT_TRUE(std::ranges::equal(found.order, graph.topological_order()));
  EXPECT_EQ(validate(graph, Traversal{found.order, found.least_bytes}), Violations());
  EXPECT_GE(found.lower_bound_bytes, graph.initial_bytes());
}

TEST(OrderGraph, StopsInsideEachPhase) {
  const DownsetBlock block = block_of(layers(60, 25));
  const BlockIndex index(block);
  int asked = 0;
  const auto stop = [&asked] { return ++asked > 1; };
  EXPECT_TRUE(
      greedy_order(index, DownsetWalk::Direction::kForwards, GreedyRule::kLatest, stop)
          .empty());
  asked = 1;
  EXPECT_EQ(memory_lower_bound(index, kMostTasksByPrecedence, stop),
            memory_lower_bound(index, 0));
  asked = 1;
  EXPECT_TRUE(lowest_downset(index, stop).empty());
  asked = 1;
  EXPECT_EQ(first_order(index, stop).order, index.topological_order());
  asked = 1;
  EXPECT_EQ(linearise(block, {.stop = stop}).block.size(), block.size());
  asked = 1;
  const BoundedOrder found =
      bounded_search(index, first_order(index).peak - 1,
                     DownsetWalk::Direction::kForwards, {.stop = stop});
  EXPECT_EQ(found.answer, BoundedOrder::Answer::kUnknown);
}

TEST(OrderGraph, TakesExtremes) {
  EXPECT_EQ(order_graph(TaskGraph()).least_bytes, 0);
  TaskGraphBuilder alone;
  alone.add_datum("x", 7);
  EXPECT_EQ(order_graph(std::move(alone).build()).least_bytes, 7);
  TaskGraphBuilder zero;
  const DatumId nothing = zero.add_datum("nothing", 0);
  for (int i = 0; i < 40; ++i) zero.reads(zero.add_task(""), nothing);
  EXPECT_EQ(order_graph(std::move(zero).build()).least_bytes, 0);
  TaskGraphBuilder large;
  const DatumId x = large.add_datum("x", Bytes{1} << 61);
  const TaskId a = large.add_task("a", Bytes{1} << 61), b = large.add_task("b", 5);
  large.reads(a, x);
  large.reads(b, x);
  EXPECT_EQ(order_graph(std::move(large).build()).least_bytes, Bytes{1} << 62);
}

TEST(OrderGraph, TakesAMillionOperatorsInARow) {
  constexpr std::size_t kTasks = 1'000'000;
  TaskGraphBuilder builder;
  for (std::size_t i = 0; i < kTasks; ++i) {
    const TaskId task = builder.add_task("", static_cast<Bytes>(i % 5));
    builder.writes(task, builder.add_datum("", static_cast<Bytes>(i % 7)));
    if (i > 0) builder.reads(task, datum_id(i - 1));
    if (i > 1) builder.reads(task, datum_id(i - 2));  // no tree
  }
  const TaskGraph graph = std::move(builder).build();
  const GraphOrder found = order_graph(graph);
  EXPECT_TRUE(found.proved());
  EXPECT_EQ(found.least_bytes, replay(graph, graph.topological_order()).peak);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
