#include "espalier/sequential/series_parallel/series_parallel_order.h"

#include <gtest/gtest.h>

#include "espalier/model/replay_graph.h"
#include "espalier/sequential/series_parallel/series_parallel_traversal.h"
#include "support/exact_graph.h"
#include "support/random_graphs.h"
#include "support/series_parallel_graph.h"

namespace espalier {
namespace TEST_SOURCE {

using support::ArcList;
using support::draw;
using support::GraphOptions;

GraphOptions varied(std::size_t k) {
  return {.largest_size = k % 3 == 0 ? 3 : 20,
          .more_data = k % 4,
          .single_input = k / 4 % 3,
          .kept = k / 12 % 3,
          .workspaces = k % 5 < 3};
}

void expect_optimal(const TaskGraph& graph) {
  const auto result = series_parallel_order(graph);
  ASSERT_TRUE(result) << result.error().message() << support::describe(graph);
  ASSERT_EQ(result->peak, support::exact_peak(graph)) << support::describe(graph);
  ASSERT_TRUE(result->proved());
  ASSERT_EQ(result->peak, support::peak_of(graph, result->order))
      << support::describe(graph);
  ASSERT_EQ(result->order.size(), graph.size());
}

TEST(SeriesParallelOrder, OfAWorkedExample) {
  // A datum of 5, counted once, for two chains 3 -> 1: the second chain runs beside 1,
  // and 5 goes when it has started: 5 + 1 + 3 = 9. With a copy each it would be 13.
  TaskGraphBuilder builder;
  const Bytes sizes[] = {5, 3, 3, 1, 1, 0};
  for (std::size_t i = 0; i < 6; ++i) {
    builder.writes(builder.add_task(""), builder.add_datum("", sizes[i]));
  }
  for (const auto& [from, to] :
       {std::pair{0, 1}, {0, 2}, {1, 3}, {2, 4}, {3, 5}, {4, 5}}) {
    builder.reads(static_cast<TaskId>(to), static_cast<DatumId>(from));
  }
  const auto result = series_parallel_order(std::move(builder).build());
  ASSERT_TRUE(result);
  EXPECT_EQ(result->peak, 9);
  EXPECT_EQ(result->lower_bound, 9);
}

TEST(SeriesParallelOrder, MatchesExactSearchOnSmallGraphs) {
  std::mt19937 random(2023);
  for (std::size_t k = 0; k < 20000; ++k) {
    const ArcList list = support::random_series_parallel(random, 1 + k % 9);
    expect_optimal(support::graph_with_arcs(random, list, varied(k)));
    if (HasFatalFailure()) return;
  }
}

TEST(SeriesParallelOrder, MatchesExactSearchOnPumpkins) {
  std::mt19937 random(2024);
  for (std::size_t k = 0; k < 20000; ++k) {
    const std::size_t chains = 2 + k % 4;
    const ArcList list = support::pumpkin(random, chains, 1 + 9 / chains);
    expect_optimal(support::graph_with_arcs(random, list, varied(k)));
    if (HasFatalFailure()) return;
  }
}

TEST(SeriesParallelOrder, MatchesExactSearchOnOutTrees) {
  std::mt19937 random(2025);
  for (std::size_t k = 0; k < 10000; ++k) {
    const ArcList list = support::random_out_tree(random, 1 + k % 10);
    expect_optimal(support::graph_with_arcs(random, list, varied(k)));
    if (HasFatalFailure()) return;
  }
}

TEST(SeriesParallelOrder, BeyondItsLimitsBoundsTheLeastPeak) {
  std::mt19937 random(2026);
  int proved = 0, best = 0;
  constexpr int kInstances = 6000;
  for (std::size_t k = 0; k < kInstances; ++k) {
    const ArcList list = k % 2 == 0 ? support::random_series_parallel(random, 4 + k % 6)
                                    : support::pumpkin(random, 2 + k % 4, 3);
    const TaskGraph graph = support::graph_with_arcs(random, list, varied(k));
    SeriesParallelLimits limits{.most_downsets = 1, .most_checks = k % 3};
    if (k % 5 == 0)  // told to stop instead, after a block or two
      limits = {.stop = [left = k % 3]() mutable { return left-- == 0; }};
    const auto result = series_parallel_order(graph, limits);
    ASSERT_TRUE(result);
    const Bytes exact = support::exact_peak(graph);
    ASSERT_LE(result->lower_bound, exact) << support::describe(graph);
    ASSERT_GE(result->peak, exact) << support::describe(graph);
    ASSERT_EQ(result->peak, support::peak_of(graph, result->order));
    proved += result->proved() ? 1 : 0;
    best += result->peak == exact ? 1 : 0;
  }
  EXPECT_GT(proved, kInstances / 2);
  EXPECT_GT(best, proved);  // not every best order is known to be one
}

TEST(SeriesParallelOrder, ProvesPumpkinsOfLongChains) {
  std::mt19937 random(2031);
  for (std::size_t k = 0; k < 3000; ++k) {
    const ArcList list = support::pumpkin(random, 2 + k % 4, 3);
    const TaskGraph graph = support::graph_with_arcs(random, list, varied(k));
    const auto result = series_parallel_order(graph, {.most_downsets = 1});
    ASSERT_TRUE(result->proved()) << support::describe(graph);
    ASSERT_EQ(result->peak, support::exact_peak(graph)) << support::describe(graph);
  }
  for (const std::size_t chains : {3, 5, 6}) {
    const TaskGraph graph = support::graph_with_arcs(
        random, support::pumpkin(random, chains, 2000), {.largest_size = 1000});
    EXPECT_TRUE(series_parallel_order(graph)->proved()) << chains;
  }
}

TEST(SeriesParallelOrder, IsTheTraversalOfArcsWhereEachDatumHasOneReader) {
  std::mt19937 random(2027);
  for (int k = 0; k < 300; ++k) {
    const ArcList list = support::random_series_parallel(random, 200);
    const EdgeWeightedDag dag = support::with_sizes(random, list, 100);
    TaskGraphBuilder builder;
    for (std::size_t i = 0; i < dag.size(); ++i) {
      builder.add_task("", dag.execution_size(task_id(i)));
    }
    for (std::size_t a = 0; a < list.arcs.size(); ++a) {
      const DatumId datum = builder.add_datum("", dag.arc_size(a));
      builder.writes(list.arcs[a].from, datum);
      builder.reads(list.arcs[a].to, datum);
    }
    EXPECT_EQ(series_parallel_order(std::move(builder).build())->peak,
              series_parallel_traversal(dag)->peak);
  }
}

TEST(SeriesParallelOrder, SharesDataThatAreThereFromTheStart) {
  std::mt19937 random(2028);
  for (std::size_t k = 0; k < 4000; ++k) {
    // Chains whose first tasks read one of two data from the start.
    TaskGraphBuilder builder;
    const DatumId start[] = {builder.add_datum("", static_cast<Bytes>(draw(random, 20))),
                             builder.add_datum("", static_cast<Bytes>(draw(random, 20)))};
    for (std::size_t c = 2 + draw(random, 2); c > 0; --c) {
      DatumId last = start[draw(random, 1)];
      for (std::size_t tasks = 1 + draw(random, 2); tasks > 0; --tasks) {
        const TaskId task = builder.add_task("", static_cast<Bytes>(draw(random, 5)));
        builder.reads(task, last);
        last = builder.add_datum("", static_cast<Bytes>(draw(random, 9)));
        builder.writes(task, last);
      }
      if (draw(random, 1) == 0) builder.keep(last);
    }
    expect_optimal(std::move(builder).build());
    if (HasFatalFailure()) return;
  }
}

TEST(SeriesParallelOrder, SaysWhatIsNotSeriesParallel) {
  std::mt19937 random(2029);
  const ArcList bridge{4,
                       {{task_id(0), task_id(1)},
                        {task_id(0), task_id(2)},
                        {task_id(1), task_id(2)},
                        {task_id(1), task_id(3)},
                        {task_id(2), task_id(3)}}};
  const auto result = series_parallel_order(support::graph_with_arcs(random, bridge, {}));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().tasks.size(), 4U);
}

TEST(SeriesParallelOrder, HandlesLargeGraphsOfAnyShape) {
  std::mt19937 random(2030);
  for (const support::ArcShape& shape : support::kArcShapes) {
    const TaskGraph graph =
        support::graph_with_arcs(random, shape.make(20'000), {.largest_size = 1000});
    const auto result =
        series_parallel_order(graph, {.most_downsets = 1 << 10, .most_checks = 2000});
    ASSERT_TRUE(result) << shape.name;
    EXPECT_EQ(replay(graph, result->order).peak, result->peak) << shape.name;
    EXPECT_LE(result->lower_bound, result->peak) << shape.name;
  }
}

TEST(SeriesParallelOrder, OfNothingAndOfOneOperator) {
  EXPECT_TRUE(series_parallel_order(TaskGraph())->order.empty());
  TaskGraphBuilder builder;
  builder.writes(builder.add_task("", 3), builder.add_datum("", 4));
  EXPECT_EQ(series_parallel_order(std::move(builder).build())->peak, 7);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
