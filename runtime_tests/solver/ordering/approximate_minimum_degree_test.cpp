#include "solver/ordering/approximate_minimum_degree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>
#include <vector>

#include "solver/matrix/grid.h"
#include "solver/ordering/elimination_order.h"
#include "solver/ordering/minimum_degree.h"
#include "solver/support/random_matrices.h"

namespace espalier::solver {
namespace TEST_SOURCE {

using Ints = std::vector<std::int32_t>;

Ints by_degree(const SymmetricMatrix& matrix, const Ints& weight = {}) {
  Graph graph = adjacency(matrix);
  graph.weight.assign(weight.begin(), weight.end());
  return approximate_minimum_degree(std::move(graph));
}

// Operations of an order, by sets of neighbours that are eliminated.
double operations(const SymmetricMatrix& matrix, const Ints& order, const Ints& weight) {
  const Graph graph = adjacency(matrix);
  std::vector<std::set<std::int32_t>> neighbours(graph.size());
  for (std::int32_t v = 0; v < graph.size(); ++v)
    neighbours[v].insert(graph.neighbours(v).begin(), graph.neighbours(v).end());
  const auto of = [&](std::int32_t v) { return weight.empty() ? 1 : weight[v]; };
  double sum = 0;
  for (const std::int32_t v : order) {
    double count = of(v);
    for (const std::int32_t a : neighbours[v]) count += of(a);
    for (std::int32_t k = 0; k < of(v); ++k, --count) sum += count * count;
    for (const std::int32_t a : neighbours[v]) {
      neighbours[a].insert(neighbours[v].begin(), neighbours[v].end());
      neighbours[a].erase(a);
      neighbours[a].erase(v);
    }
  }
  return sum;
}

bool is_permutation(Ints order, std::int32_t size) {
  Ints all(size);
  std::iota(all.begin(), all.end(), 0);
  std::ranges::sort(order);
  return order == all;
}

// A path with weights 1, 1, 5: an end of weight 5 is next to 1, the other ones to 6
// and 1.
TEST(ApproximateMinimumDegree, CountsWeightsByHand) {
  const SymmetricMatrix path = make_grid({3, 1, 1});
  EXPECT_EQ(by_degree(path, {1, 1, 5}).front(), 2);
  // A hub of three leaves sees 3; they see it.
  const SymmetricMatrix star{4, {0, 3, 3, 3, 3}, {1, 2, 3}, {}};
  EXPECT_NE(by_degree(star).front(), 0);
  EXPECT_EQ(by_degree(star, {9, 1, 1, 1}).front(), 0);
}

TEST(ApproximateMinimumDegree, TakesEmptyGraphsAndIsolatedVertices) {
  EXPECT_EQ(by_degree({0, {0}, {}, {}}), Ints{});
  EXPECT_TRUE(is_permutation(by_degree({3, {0, 0, 0, 0}, {}, {}}), 3));
}

TEST(ApproximateMinimumDegree, MakesNoFillInForests) {
  std::mt19937 random(21);
  for (int instance = 0; instance < 200; ++instance) {
    const auto size = static_cast<std::int32_t>(1 + random() % 60);
    SymmetricMatrix forest{size, {0}, {}, {}};
    std::vector<Ints> rows(size);
    for (std::int32_t v = 1; v < size; ++v)
      if (random() % 8 != 0) rows[random() % v].push_back(v);
    for (const Ints& of_column : rows) {
      forest.row.insert(forest.row.end(), of_column.begin(), of_column.end());
      forest.column_start.push_back(std::ssize(forest.row));
    }
    const EliminationOrder order = elimination_order(forest, by_degree(forest));
    ASSERT_EQ(std::accumulate(order.counts.begin(), order.counts.end(), 0L),
              size + std::ssize(forest.row))
        << describe(forest);
  }
}

// Beside degrees that are exact. Approximate ones are so while no vertex is in three
// elements, and seldom mislead.
TEST(ApproximateMinimumDegree, NeedsHardlyMoreOperationsThanExactDegrees) {
  std::mt19937 random(22);
  double sum = 0, exact = 0;
  for (int instance = 0; instance < 300; ++instance) {
    const SymmetricMatrix matrix = random_matrix(random, 40);
    Ints weight;
    for (std::int32_t v = 0; instance % 2 != 0 && v < matrix.size; ++v)
      weight.push_back(static_cast<std::int32_t>(1 + random() % 6));
    const Ints order = by_degree(matrix, weight);
    ASSERT_TRUE(is_permutation(order, matrix.size)) << describe(matrix);
    Graph graph = adjacency(matrix);
    graph.weight.assign(weight.begin(), weight.end());
    Ints all(matrix.size);
    std::iota(all.begin(), all.end(), 0);
    sum += operations(matrix, order, weight);
    exact += operations(matrix, minimum_degree_order(graph, all), weight);
  }
  EXPECT_LT(sum, 1.02 * exact);
}

// A vertex of weight w is as good as w vertices that are alike.
TEST(ApproximateMinimumDegree, TakesWeightsForVerticesThatAreAlike) {
  std::mt19937 random(23);
  double weighted = 0, alike = 0;
  for (int instance = 0; instance < 200; ++instance) {
    const SymmetricMatrix matrix = random_matrix(random, 25);
    Groups groups{{}, matrix.size};
    Ints weight;
    for (std::int32_t v = 0; v < matrix.size; ++v) {
      weight.push_back(static_cast<std::int32_t>(1 + random() % 4));
      groups.of.insert(groups.of.end(), weight.back(), v);
    }
    SymmetricMatrix pattern{static_cast<std::int32_t>(groups.of.size()), {0}, {}, {}};
    const Graph graph = adjacency(matrix);
    for (std::int32_t column = 0; column < pattern.size; ++column) {
      const auto near = graph.neighbours(groups.of[column]);
      for (std::int32_t row = column + 1; row < pattern.size; ++row)
        if (groups.of[row] == groups.of[column] ||
            std::ranges::find(near, groups.of[row]) != near.end())
          pattern.row.push_back(row);
      pattern.column_start.push_back(std::ssize(pattern.row));
    }
    weighted += operations(matrix, by_degree(matrix, weight), weight);
    alike += operations(pattern, by_degree(pattern), {});
  }
  EXPECT_LT(weighted, 1.02 * alike);
}

TEST(ApproximateMinimumDegree, OrdersAGridAsExactDegreesDo) {
  const SymmetricMatrix grid = make_grid({40, 40, 1});
  Ints all(grid.size);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_LT(operations(grid, by_degree(grid), {}),
            1.1 * operations(grid, minimum_degree_order(adjacency(grid), all), {}));
}

TEST(ApproximateMinimumDegree, PutsAHubLast) {
  constexpr std::int32_t kSize = 3000;
  SymmetricMatrix hub{kSize, {0}, {}, {}};
  for (std::int32_t v = 1; v < kSize; ++v) hub.row.push_back(v);
  hub.column_start.push_back(std::ssize(hub.row));
  for (std::int32_t v = 1; v < kSize; ++v) {
    if (v + 1 < kSize) hub.row.push_back(v + 1);
    hub.column_start.push_back(std::ssize(hub.row));
  }
  const Ints order = by_degree(hub);  // of the path below it nothing else is made
  EXPECT_EQ(order.back(), 0);
  EXPECT_LE(elimination_order(hub, order).flops, 9.0 * kSize);
}

TEST(ApproximateMinimumDegree, CanBeEndedWhileItSearches) {
  int asked = 0;
  const Interrupt ask = [&] {
    if (++asked == 3) throw std::runtime_error("enough");
  };
  EXPECT_THROW((void)approximate_minimum_degree(adjacency(make_grid({60, 60, 1})), &ask),
               std::runtime_error);
  EXPECT_EQ(asked, 3);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
