// Above 300 lines: what a dissection is made of is tried on the same graphs.

#include "solver/ordering/nested_dissection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "solver/matrix/grid.h"
#include "solver/ordering/bisect.h"
#include "solver/ordering/edge_bisection.h"
#include "solver/ordering/layered_separator.h"
#include "solver/ordering/minimum_degree.h"
#include "solver/ordering/ordering.h"
#include "solver/ordering/split.h"
#include "solver/support/graphs.h"
#include "solver/support/random_matrices.h"
#include "solver/symbolic/analyse.h"

namespace espalier::solver {
namespace TEST_SOURCE {

// Of the kinds that dissections find hard.
std::vector<Graph> graphs_of_all_kinds() {
  std::mt19937 random(3);
  Edges star, clique, two_cliques, bipartite, rays;
  for (std::int32_t i = 1; i < 3000; ++i) star.emplace_back(0, i);
  for (std::int32_t i = 0; i < 500; ++i)
    for (std::int32_t j = 0; j < i; ++j) {
      clique.emplace_back(i, j);
      if (i / 250 == j / 250) two_cliques.emplace_back(i, j);
    }
  for (std::int32_t i = 0; i < 8; ++i)
    for (std::int32_t j = 8; j < 4000; ++j) bipartite.emplace_back(i, j);
  for (std::int32_t i = 1; i < 20'000; ++i) rays.emplace_back(i, i < 50 ? 0 : i - 49);
  std::vector<Graph> graphs;
  graphs.push_back(graph_of(0, {}));
  graphs.push_back(graph_of(1, {}));
  graphs.push_back(graph_of(5000, {}));  // isolated
  graphs.push_back(graph_of(3000, star));
  graphs.push_back(graph_of(500, clique));
  graphs.push_back(graph_of(500, two_cliques));
  graphs.push_back(graph_of(4000, bipartite));
  graphs.push_back(graph_of(20'000, rays));
  graphs.push_back(adjacency(make_grid({100'000, 1, 1})));
  graphs.push_back(adjacency(make_grid({200, 150, 1})));
  graphs.push_back(adjacency(make_grid({20, 20, 20})));
  graphs.push_back(random_graph(random, 3000, 3000));  // many parts
  graphs.push_back(random_graph(random, 2000, 20'000));
  graphs.push_back(with_weights(random_graph(random, 3000, 9000), random, 1000));
  return graphs;
}

bool is_permutation(std::vector<std::int32_t> order, std::int32_t size) {
  std::vector<std::int32_t> all(size);
  std::iota(all.begin(), all.end(), 0);
  std::sort(order.begin(), order.end());
  return order == all;
}

// Each vertex with its distance, in the order in which they are reached; parts that are
// not connected follow each other, one distance left out between them.
std::vector<std::pair<std::int32_t, std::int32_t>> distances(const Graph& graph,
                                                             std::int32_t start) {
  std::vector<std::pair<std::int32_t, std::int32_t>> reached{{0, start}};
  std::set<std::int32_t> left;
  for (std::int32_t v = 0; v < graph.size(); ++v)
    if (v != start) left.insert(v);
  for (std::size_t k = 0; k < reached.size(); ++k) {
    const auto [distance, from] = reached[k];
    for (const std::int32_t v : graph.neighbours(from))
      if (left.erase(v) > 0) reached.emplace_back(distance + 1, v);
    if (k + 1 < reached.size() || left.empty()) continue;
    reached.emplace_back(distance + 2, *left.begin());
    left.erase(left.begin());
  }
  return reached;
}

// The last that is reached of the part that `start` is in: there is a gap behind it.
std::int32_t farthest(const Graph& graph, std::int32_t start) {
  const auto reached = distances(graph, start);
  std::size_t last = 0;
  while (last + 1 < reached.size() && reached[last + 1].first <= reached[last].first + 1)
    ++last;
  return reached[last].second;
}

// What one distance separates.
Partition cut_at(const Graph& graph,
                 const std::vector<std::pair<std::int32_t, std::int32_t>>& by_distance,
                 std::int32_t separator) {
  Partition partition;
  for (const auto& [distance, v] : by_distance)
    partition.weight[distance < separator   ? 0
                     : distance > separator ? 1
                                            : 2] += graph.weight[v];
  return partition;
}

TEST(NestedDissection, IsAPermutationAndTheSameForAnyNumberOfWorkers) {
  for (const Graph& graph : graphs_of_all_kinds()) {
    const std::vector<std::int32_t> order = nested_dissection(Graph(graph), 1);
    ASSERT_TRUE(is_permutation(order, graph.size())) << graph.size();
    for (const std::int32_t workers : {2, 4})
      ASSERT_EQ(nested_dissection(Graph(graph), workers), order) << graph.size();
  }
}

TEST(NestedDissection, RecordsTasksThatAreTheSameForAnyNumberOfWorkers) {
  const Graph grid = adjacency(make_grid({200, 200, 1}));
  std::vector<RecordedTask> one, four;
  EXPECT_EQ(nested_dissection(Graph(grid), 1, &one),
            nested_dissection(Graph(grid), 4, &four));
  EXPECT_GT(one.size(), 8U);
  EXPECT_EQ(one.size(), four.size());
}

// Of METIS's entries: small cubes were what it did worst on.
TEST(NestedDissection, KeepsTheFactorsOfGridsSparse) {
  const auto entries = [](const GridShape& shape, OrderingKind kind) {
    return static_cast<double>(
        analyse_pattern(make_grid(shape), {kind, {}}).factor_entries);
  };
  for (const GridShape& shape :
       {GridShape{100, 100, 1}, GridShape{300, 40, 1}, GridShape{18, 18, 18},
        GridShape{16, 16, 16}, GridShape{40, 20, 10}}) {
    const double own = entries(shape, OrderingKind::kNested);
    EXPECT_LT(own, 0.7 * entries(shape, OrderingKind::kNatural));
    if (!available(OrderingKind::kMetis)) continue;
    EXPECT_LT(own, 1.05 * entries(shape, OrderingKind::kMetis)) << shape.nx;
  }
}

TEST(NestedDissection, KeepsTheFactorOfALargeCubeSparse) {
  const SymmetricMatrix cube = make_grid({59, 59, 58});
  const Graph graph = adjacency(cube);
  const std::vector<std::int32_t> order = nested_dissection(Graph(graph), 1);
  ASSERT_TRUE(is_permutation(order, graph.size()));
  EXPECT_EQ(nested_dissection(Graph(graph), 2), order);
  if (!available(OrderingKind::kMetis)) return;
  const auto entries = [&](OrderingKind kind) {
    return static_cast<double>(analyse_pattern(cube, {kind, {}}).factor_entries);
  };
  EXPECT_LT(entries(OrderingKind::kNested), 0.9 * entries(OrderingKind::kMetis));
}

// Points at random in a cube, each joined to those that are near: what has no directions
// needs flows.
TEST(NestedDissection, KeepsTheFactorOfAMeshWithoutDirectionsSparse) {
  constexpr std::int32_t kPoints = 25'000;
  constexpr double kNear = 0.048;  // 11 neighbours
  std::mt19937 random(31);
  std::uniform_real_distribution<> place(0, 1);
  std::vector<std::array<double, 3>> points(kPoints);
  for (auto& point : points)
    for (double& x : point) x = place(random);
  std::ranges::sort(points);
  SymmetricMatrix mesh;
  mesh.size = kPoints;
  mesh.column_start.push_back(0);
  for (std::int32_t i = 0; i < kPoints; ++i) {
    for (std::int32_t j = i; j < kPoints && points[j][0] < points[i][0] + kNear; ++j) {
      const double x = points[j][0] - points[i][0], y = points[j][1] - points[i][1],
                   z = points[j][2] - points[i][2];
      if (x * x + y * y + z * z < kNear * kNear) mesh.row.push_back(j);
    }
    mesh.column_start.push_back(std::ssize(mesh.row));
  }
  mesh.value.assign(mesh.row.size(), 1);
  const Graph graph = adjacency(mesh);
  EXPECT_EQ(nested_dissection(Graph(graph), 1), nested_dissection(Graph(graph), 2));
  if (!available(OrderingKind::kMetis)) return;
  const auto entries = [&](OrderingKind kind) {
    return static_cast<double>(analyse_pattern(mesh, {kind, {}}).factor_entries);
  };
  EXPECT_LT(entries(OrderingKind::kNested), 0.98 * entries(OrderingKind::kMetis));
}

TEST(Separators, SeparateOnEveryLevelAndRefinementMakesNoneWorse) {
  std::mt19937 random(5);
  TaskPool pool(1);
  for (int instance = 0; instance < 60; ++instance) {
    const auto size = static_cast<std::int32_t>(2 + random() % 300);
    const Graph graph = with_weights(
        random_graph(random, size, static_cast<std::int32_t>(random() % (4 * size))),
        random, instance % 2 ? 1 : 9);
    for (const std::uint64_t seed : {0, 1}) {
      Partition grown = grown_partition(graph, seed);
      expect_separates(graph, grown);
      const Partition before = grown;
      refine_separator(graph, grown);
      expect_separates(graph, grown);
      ASSERT_FALSE(is_better(before, grown)) << instance;
      expect_separates(graph, partition_from_cut(graph, {}, seed));
    }
  }
}

// A square from its corners: the diagonals have 1 to 7 vertices and 6 to 1 again. That of
// 5 leaves 10 and 34, which differ by too much; that of 6 costs less than that of 7.
TEST(LayeredSeparator, CutsTheCornerOffASquare) {
  Graph square = adjacency(make_grid({7, 7, 1}));
  square.weight.assign(square.size(), 1);
  for (const std::int32_t vertex : {0, 6, 24}) {
    const Partition cut = layered_separator(square, vertex);
    expect_separates(square, cut);
    EXPECT_EQ(cut.weight, (std::array<std::int64_t, 3>{15, 28, 6}));
  }
}

TEST(LayeredSeparator, SeparatesAndNoDistanceFromTheSameEndCostsLess) {
  std::mt19937 random(11);
  for (int instance = 0; instance < 200; ++instance) {
    const auto size = static_cast<std::int32_t>(1 + random() % 120);
    const Graph graph = with_weights(
        random_graph(random, size, static_cast<std::int32_t>(random() % (2 * size))),
        random, instance % 2 ? 1 : 9);
    const auto vertex = static_cast<std::int32_t>(random() % size);
    const auto by_distance = distances(graph, farthest(graph, vertex));
    const Partition cut = layered_separator(graph, vertex);
    expect_separates(graph, cut);
    for (std::int32_t d = 0; d <= by_distance.back().first; ++d)
      ASSERT_FALSE(is_better(cut_at(graph, by_distance, d), cut)) << instance << ' ' << d;
  }
}

TEST(Bisection, FindsThatLayersAreFarBetterOnAGridAndLevelsOnATree) {
  TaskPool pool(1);
  const Effort effort{.layered = true};
  const auto found_on = [&](Graph&& graph) {
    graph.weight.assign(graph.size(), 1);
    return bisect(coarsen(std::make_shared<const Graph>(std::move(graph)), 200, pool), 1,
                  pool, effort)
        .finder;
  };
  EXPECT_EQ(found_on(adjacency(make_grid({20, 20, 20}))), Finder::kLayers);
  Edges tree;
  for (std::int32_t v = 1; v < 4000; ++v) tree.emplace_back(v, (v - 1) / 2);
  EXPECT_EQ(found_on(graph_of(4000, tree)), Finder::kLevels);
}

TEST(Bisection, CutsEveryKindOfGraphAndSplitsWhatItHasCut) {
  TaskPool pool(2);
  for (Graph& graph : graphs_of_all_kinds()) {
    if (graph.size() < 2) continue;
    if (graph.weight.empty()) graph.weight.assign(graph.size(), 1);
    Piece piece;
    piece.vertices.resize(graph.size());
    std::iota(piece.vertices.begin(), piece.vertices.end(), 0);
    piece.levels = coarsen(std::make_shared<const Graph>(graph), 50, pool);
    const Effort effort{.flow = true, .layered = true, .shared = 300};
    const Partition partition = bisect(piece.levels, 1, pool, effort).partition;
    expect_separates(graph, partition);
    ASSERT_LT(std::ranges::count(partition.side, 0), graph.size());
    ASSERT_LT(std::ranges::count(partition.side, 1), graph.size());
    auto sides = split(std::move(piece), partition, pool);
    for (const int side : {0, 1}) {
      Levels& levels = sides[side].levels;
      restore_level_1(levels, pool);
      ASSERT_EQ(sides[side].size(), std::ranges::count(partition.side, side));
      for (std::size_t k = 0; k < levels.graphs.size(); ++k)
        ASSERT_EQ(total_weight(*levels.graphs[k]), partition.weight[side]) << k;
      for (std::int32_t v = 0; v < sides[side].size(); ++v)
        for (const std::int32_t other : levels.graphs[0]->neighbours(v))
          ASSERT_TRUE(std::ranges::binary_search(
              graph.neighbours(sides[side].vertices[v]), sides[side].vertices[other]));
    }
  }
}

// A path of three with a neighbour outside at vertex 0: degrees 2, 2, 1; then 2, 1.
TEST(MinimumDegree, TakesTheLeastDegreeOfAHandExample) {
  const Graph path = graph_of(4, {{0, 1}, {1, 2}, {0, 3}});
  const std::vector<std::int32_t> part = {0, 1, 2};
  EXPECT_EQ(minimum_degree_order(path, part), (std::vector<std::int32_t>{2, 1, 0}));
}

TEST(MinimumDegree, TakesTheLeastDegreeOfPlainElimination) {
  std::mt19937 random(8);
  for (int instance = 0; instance < 200; ++instance) {
    const auto size = static_cast<std::int32_t>(1 + random() % 90);
    Graph graph = random_graph(random, size, static_cast<std::int32_t>(random() % 200));
    if (instance % 2) graph = with_weights(std::move(graph), random, 5);
    std::vector<std::int32_t> part;
    for (std::int32_t v = 0; v < size; ++v)
      if (random() % 4 != 0) part.push_back(v);
    std::vector<std::set<std::int32_t>> left(size);
    for (std::int32_t v = 0; v < size; ++v)
      for (const std::int32_t other : graph.neighbours(v)) left[v].insert(other);
    const auto degree = [&](std::int32_t v) {
      std::int64_t sum = 0;
      for (const std::int32_t other : left[v])
        sum += graph.weight.empty() ? 1 : graph.weight[other];
      return sum;
    };
    std::set<std::int32_t> alive(part.begin(), part.end());
    // An edge between two that stay is none of its business.
    for (const std::int32_t k : minimum_degree_order(graph, part)) {
      const std::int32_t v = part[k];
      for (const std::int32_t other : alive)
        ASSERT_LE(degree(v), degree(other)) << instance;
      ASSERT_EQ(alive.erase(v), 1U);
      for (const std::int32_t other : left[v]) {
        left[other].insert(left[v].begin(), left[v].end());
        left[other].erase(other);
        left[other].erase(v);
      }
    }
    ASSERT_TRUE(alive.empty());
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
