#include "solver/ordering/reduce_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "solver/matrix/grid.h"
#include "solver/ordering/ordering.h"
#include "solver/symbolic/analyse.h"

namespace espalier::solver {
namespace TEST_SOURCE {

using Edges = std::vector<std::pair<std::int32_t, std::int32_t>>;

// The diagonal, and an entry for each edge.
SymmetricMatrix matrix_of(std::int32_t size, Edges edges) {
  for (std::int32_t i = 0; i < size; ++i) edges.emplace_back(i, i);
  for (auto& [a, b] : edges) std::tie(a, b) = std::minmax({a, b});
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  SymmetricMatrix matrix{.size = size, .column_start = {0}, .row = {}, .value = {}};
  auto edge = edges.begin();
  for (std::int32_t column = 0; column < size; ++column) {
    for (; edge != edges.end() && edge->first == column; ++edge)
      matrix.row.push_back(edge->second);
    matrix.column_start.push_back(static_cast<std::int64_t>(matrix.row.size()));
  }
  matrix.value.assign(matrix.row.size(), 1);
  return matrix;
}

Edges random_forest(std::mt19937& random, std::int32_t size) {
  Edges edges;
  for (std::int32_t i = 1; i < size; ++i)
    if (random() % 10 != 0)
      edges.emplace_back(i, static_cast<std::int32_t>(random() % i));
  return edges;
}

Edges star(std::int32_t size, std::int32_t hub) {
  Edges edges;
  for (std::int32_t i = 0; i < size; ++i)
    if (i != hub) edges.emplace_back(hub, i);
  return edges;
}

std::int64_t fill(const SymmetricMatrix& matrix, OrderingKind kind) {
  return analyse_pattern(matrix, {kind, {}}).factor_entries -
         static_cast<std::int64_t>(matrix.row.size());
}

TEST(ReduceGraph, TakesLeavesOffAByHandExample) {
  // A triangle 0 1 2 with the path 3 4 at vertex 2, and 5 alone.
  const SymmetricMatrix matrix = matrix_of(6, {{0, 1}, {1, 2}, {0, 2}, {2, 3}, {3, 4}});
  const ReducedGraph reduced = reduce_graph(adjacency(matrix), true);
  EXPECT_EQ(reduced.first, (std::vector<std::int32_t>{4, 5, 3}));
  EXPECT_EQ(reduced.core, (std::vector<std::int32_t>{0, 1, 2}));
  EXPECT_TRUE(reduced.last.empty());
  EXPECT_EQ(reduced.graph.start, (UnsetVector<std::int64_t>{0, 2, 4, 6}));
  EXPECT_EQ(whole_order(reduced, {2, 0, 1}),
            (std::vector<std::int32_t>{4, 5, 3, 2, 0, 1}));
}

TEST(ReduceGraph, PutsHubsLastByNeighbours) {
  // 10 sqrt(900) = 300 neighbours: two hubs over a cycle.
  Edges edges = star(900, 0);
  for (std::int32_t i = 1; i <= 400; ++i) edges.emplace_back(5, i);
  for (std::int32_t i = 1; i < 900; ++i) edges.emplace_back(i, i % 899 + 1);
  const ReducedGraph reduced = reduce_graph(adjacency(matrix_of(900, edges)), true);
  EXPECT_EQ(reduced.last, (std::vector<std::int32_t>{5, 0}));
  EXPECT_TRUE(reduce_graph(adjacency(matrix_of(900, edges)), false).last.empty());
}

TEST(ReduceGraph, LeavesAGridAndADenseMatrixAlone) {
  for (const SymmetricMatrix& matrix : {make_grid({20, 20, 1}), [] {
                                          Edges edges;
                                          for (std::int32_t i = 0; i < 400; ++i)
                                            for (std::int32_t j = 0; j < i; ++j)
                                              edges.emplace_back(i, j);
                                          return matrix_of(400, edges);
                                        }()}) {
    const Graph graph = adjacency(matrix);
    const ReducedGraph reduced = reduce_graph(adjacency(matrix), true);
    EXPECT_EQ(reduced.graph.start, graph.start);
    EXPECT_EQ(reduced.graph.neighbour, graph.neighbour);
    EXPECT_TRUE(reduced.first.empty());
    EXPECT_TRUE(reduced.last.empty());
  }
}

TEST(ReduceGraph, KeepsEveryVertexAndTheEdgesOfItsCore) {
  std::mt19937 random(3);
  for (int instance = 0; instance < 300; ++instance) {
    const auto size = static_cast<std::int32_t>(1 + random() % 40);
    Edges edges = random_forest(random, size);
    for (auto more = random() % 8; more > 0; --more)
      edges.emplace_back(random() % size, random() % size);
    if (instance % 3 == 0)
      for (const auto& edge : star(size, static_cast<std::int32_t>(random() % size)))
        edges.push_back(edge);
    const Graph graph = adjacency(matrix_of(size, edges));
    const ReducedGraph reduced = reduce_graph(Graph(graph), true);
    std::vector<std::int32_t> natural(reduced.core.size());
    std::iota(natural.begin(), natural.end(), 0);
    std::vector<std::int32_t> order = whole_order(reduced, natural);
    std::sort(order.begin(), order.end());
    for (std::int32_t k = 0; k < size; ++k) ASSERT_EQ(order[k], k) << instance;
    ASSERT_EQ(order.size(), static_cast<std::size_t>(size));
    ASSERT_EQ(reduced.graph.size(), std::ssize(reduced.core));
    for (std::int32_t v = 0; v < reduced.graph.size(); ++v) {
      std::vector<std::int32_t> expected, found;
      for (const std::int32_t other : graph.neighbours(reduced.core[v]))
        if (std::binary_search(reduced.core.begin(), reduced.core.end(), other))
          expected.push_back(other);
      for (const std::int32_t other : reduced.graph.neighbours(v))
        found.push_back(reduced.core[other]);
      ASSERT_EQ(found, expected) << instance;
      ASSERT_GE(found.size(), 2U) << instance;
    }
  }
}

class NoFill : public testing::TestWithParam<OrderingKind> {
 protected:
  void SetUp() override {
    if (!available(GetParam())) GTEST_SKIP() << "not in this build";
  }
};

TEST_P(NoFill, InForests) {
  std::mt19937 random(7);
  for (int instance = 0; instance < 20; ++instance)
    EXPECT_EQ(fill(matrix_of(500, random_forest(random, 500)), GetParam()), 0);
}

TEST_P(NoFill, InStarsPathsAndArrows) {
  EXPECT_EQ(fill(matrix_of(2000, star(2000, 0)), GetParam()), 0);
  EXPECT_EQ(fill(make_grid({3000, 1, 1}), GetParam()), 0);
  Edges arrow = star(4000, 0);
  for (const auto& edge : star(4000, 1)) arrow.push_back(edge);
  EXPECT_EQ(fill(matrix_of(4000, arrow), GetParam()), 0);
}

// Four hubs, a tree: SCOTCH alone needs 9e10 operations here, where 1e5 suffice.
TEST_P(NoFill, InATreeOfStars) {
  std::mt19937 random(2);
  Edges edges;
  for (std::int32_t i = 1; i < 26'045; ++i)
    edges.emplace_back(i, static_cast<std::int32_t>(random() % std::min(i, 4)));
  EXPECT_LE(fill(matrix_of(26'045, edges), GetParam()), 6) << "the hubs are four";
}

// The core of one hub over a cycle is the cycle.
TEST_P(NoFill, BesideThatOfACycleUnderAHub) {
  Edges edges = star(1000, 0);
  for (std::int32_t i = 1; i < 1000; ++i) edges.emplace_back(i, i % 999 + 1);
  EXPECT_LE(fill(matrix_of(1000, edges), GetParam()), 3000);
}

INSTANTIATE_TEST_SUITE_P(Libraries, NoFill,
                         testing::Values(OrderingKind::kNested, OrderingKind::kMetis,
                                         OrderingKind::kScotch, OrderingKind::kAmd,
                                         OrderingKind::kAuto),
                         [](const auto& each) { return std::string(name(each.param)); });

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
