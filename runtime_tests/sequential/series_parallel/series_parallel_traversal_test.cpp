#include "espalier/sequential/series_parallel/series_parallel_traversal.h"

#include <gtest/gtest.h>

#include <limits>

#include "espalier/model/error.h"
#include "espalier/sequential/tree/liu_traversal.h"
#include "support/random_tree.h"
#include "support/series_parallel.h"

namespace espalier {
namespace TEST_SOURCE {

using support::ArcList;

std::vector<Arc> arcs(std::initializer_list<std::pair<std::size_t, std::size_t>> pairs) {
  std::vector<Arc> result;
  for (const auto& [from, to] : pairs) result.push_back({task_id(from), task_id(to)});
  return result;
}

TEST(SeriesParallelTraversal, OfAWorkedExample) {
  // A copy of 5 for each of two chains 3 -> 1, joined at the end. The first chain to run
  // holds 3 beside both copies; then 5 + 1 is left, and the other needs 3 more.
  const EdgeWeightedDag dag(std::vector<Bytes>(6),
                            arcs({{0, 1}, {0, 2}, {1, 3}, {2, 4}, {3, 5}, {4, 5}}),
                            std::vector<Bytes>{5, 5, 3, 3, 1, 1});
  const auto traversal = series_parallel_traversal(dag);
  ASSERT_TRUE(traversal);
  EXPECT_EQ(traversal->peak, 13);
  EXPECT_EQ(support::peak_of(dag, traversal->order), 13);
}

TEST(SeriesParallelTraversal, MatchesExactSearchOnSmallGraphs) {
  std::mt19937 random(2018);
  for (int k = 0; k < 30000; ++k) {
    const EdgeWeightedDag dag = support::with_sizes(
        random,
        support::random_series_parallel(random, 1 + static_cast<std::size_t>(k % 9)),
        k % 3 == 0 ? 3 : 20);
    const auto traversal = series_parallel_traversal(dag);
    ASSERT_TRUE(traversal) << support::describe(dag);
    ASSERT_EQ(traversal->peak, support::exact_peak(dag)) << support::describe(dag);
    ASSERT_EQ(traversal->peak, support::peak_of(dag, traversal->order))
        << support::describe(dag);
  }
}

TEST(SeriesParallelTraversal, IsLiusTraversalOnTrees) {
  std::mt19937 random(2019);
  for (int k = 0; k < 300; ++k) {
    const TaskTree tree =
        support::random_tree(random, {.tasks = 200, .largest_size = 99});
    std::vector<Bytes> execution(tree.size()), sizes;
    std::vector<Arc> edges;
    for (std::size_t i = 0; i < tree.size(); ++i) {
      execution[i] = tree.execution_size(task_id(i));
      if (const auto parent = tree.parent(task_id(i))) {
        edges.push_back({task_id(i), *parent});
        sizes.push_back(tree.output_size(task_id(i)));
      } else {
        execution[i] += tree.output_size(task_id(i));
      }
    }
    const EdgeWeightedDag dag(execution, edges, sizes);
    EXPECT_EQ(series_parallel_traversal(dag)->peak, liu_traversal(tree).peak);
  }
}

TEST(SeriesParallelTraversal, DoesNotDependOnTheDirectionOfTime) {
  std::mt19937 random(2020);
  for (int k = 0; k < 300; ++k) {
    const ArcList list = support::random_series_parallel(random, 300);
    const EdgeWeightedDag dag = support::with_sizes(random, list, 1000);
    std::vector<Arc> reversed;
    std::vector<Bytes> execution(dag.size()), sizes(list.arcs.size());
    for (std::size_t i = 0; i < dag.size(); ++i)
      execution[i] = dag.execution_size(task_id(i));
    for (std::size_t a = 0; a < list.arcs.size(); ++a) {
      reversed.push_back({list.arcs[a].to, list.arcs[a].from});
      sizes[a] = dag.arc_size(a);
    }
    EXPECT_EQ(
        series_parallel_traversal(EdgeWeightedDag(execution, reversed, sizes))->peak,
        series_parallel_traversal(dag)->peak);
  }
}

TEST(SeriesParallelTraversal, HandlesLargeGraphsOfAnyShape) {
  std::mt19937 random(2021);
  for (const support::ArcShape& shape : support::kArcShapes) {
    const EdgeWeightedDag dag = support::with_sizes(random, shape.make(100'000), 1000);
    const auto traversal = series_parallel_traversal(dag);
    ASSERT_TRUE(traversal) << shape.name;
    EXPECT_EQ(support::peak_of(dag, traversal->order), traversal->peak) << shape.name;
  }
}

TEST(SeriesParallelTraversal, HandlesAChainOfAMillion) {
  std::mt19937 random(2022);
  const EdgeWeightedDag dag =
      support::with_sizes(random, support::chain_of_arcs(1'000'000), 1000);
  const auto traversal = series_parallel_traversal(dag);
  EXPECT_EQ(support::peak_of(dag, traversal->order), traversal->peak);
}

TEST(SeriesParallelTraversal, OfNothingOneTaskAndZeroSizes) {
  EXPECT_TRUE(series_parallel_traversal(EdgeWeightedDag())->order.empty());
  EXPECT_EQ(
      series_parallel_traversal(EdgeWeightedDag(std::vector<Bytes>{7}, {}, {}))->peak, 7);
  std::mt19937 random(1);
  const EdgeWeightedDag zeros = support::with_sizes(random, support::nested(51), 0);
  EXPECT_EQ(series_parallel_traversal(zeros)->peak, 0);
  EXPECT_EQ(support::peak_of(zeros, series_parallel_traversal(zeros)->order), 0);
}

TEST(SeriesParallelTraversal, SaysWhatIsNotSeriesParallel) {
  const EdgeWeightedDag dag(std::vector<Bytes>(4), arcs({{0, 2}, {0, 3}, {1, 3}}),
                            std::vector<Bytes>(3));
  EXPECT_FALSE(series_parallel_traversal(dag));
}

TEST(SeriesParallelTraversal, IsExactNearTheLargestSize) {
  constexpr Bytes kLarge = std::numeric_limits<Bytes>::max() / 2;
  const auto diamond = arcs({{0, 1}, {0, 2}, {1, 3}, {2, 3}});
  const EdgeWeightedDag dag(std::vector<Bytes>(4), diamond,
                            std::vector<Bytes>{kLarge, kLarge, 1, 0});
  EXPECT_EQ(series_parallel_traversal(dag)->peak, 2 * kLarge);  // 2 is first
  EXPECT_THROW(EdgeWeightedDag(std::vector<Bytes>(4), diamond,
                               std::vector<Bytes>{kLarge, kLarge, 1, 1}),
               OverflowError);
}

template <class Build>
std::string message_of(Build build) {
  try {
    build();
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "";
}

TEST(EdgeWeightedDag, RefusesWhatIsNone) {
  const std::vector<Bytes> two(2), size{3};
  EXPECT_EQ(message_of([&] {
              EdgeWeightedDag(two, arcs({{0, 2}}), size);
            }),
            "arc 0: 2 is not one of the 2 tasks");
  EXPECT_EQ(message_of([&] {
              EdgeWeightedDag(two, arcs({{0, 1}}), std::vector<Bytes>{-4});
            }),
            "arc 0: size -4 is negative");
  EXPECT_EQ(message_of([&] { EdgeWeightedDag(std::vector<Bytes>{-1}, {}, {}); }),
            "task 0: size -1 is negative");
  EXPECT_EQ(message_of([&] {
              EdgeWeightedDag(two, arcs({{0, 1}}), {});
            }),
            "1 arcs have 0 sizes");
  EXPECT_EQ(message_of([&] {
              EdgeWeightedDag(two, arcs({{1, 1}}), size);
            }),
            "task 1 runs before itself: the arcs have a cycle");
  EXPECT_NE(message_of([&] {
              EdgeWeightedDag(std::vector<Bytes>(5),
                              arcs({{0, 1}, {1, 2}, {2, 1}, {2, 3}, {3, 4}}),
                              std::vector<Bytes>(5));
            }).find("runs before itself"),
            std::string::npos);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
