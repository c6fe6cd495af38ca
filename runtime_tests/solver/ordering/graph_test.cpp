#include "solver/ordering/graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "solver/matrix/grid.h"
#include "solver/support/random_matrices.h"
#include "solver/symbolic/analyse.h"
#include "solver/symbolic/check_symbolic.h"

namespace espalier::solver {
namespace TEST_SOURCE {

using Ints = std::vector<std::int32_t>;

std::set<std::int32_t> closed_neighbourhood(const Graph& graph, std::int32_t vertex) {
  const auto neighbours = graph.neighbours(vertex);
  std::set<std::int32_t> result(neighbours.begin(), neighbours.end());
  result.insert(vertex);
  return result;
}

// 0 - 1 - 2 - 3, and 1 - 3 ,  2 and 3 see the same: 1, 2, 3
TEST(Graph, FindsEqualVerticesByHand) {
  const Graph graph = adjacency({4, {0, 1, 3, 4, 4}, {1, 2, 3, 3}, {1, 1, 1, 1}});
  const Groups groups = indistinguishable_vertices(graph);
  EXPECT_EQ(groups.of, (Ints{0, 1, 2, 2}));
  const Graph smaller = quotient(graph, groups);
  EXPECT_EQ(smaller.start, (std::vector<std::int64_t>{0, 1, 3, 4}));
  EXPECT_EQ(smaller.neighbour, (Ints{1, 0, 2, 1}));
  EXPECT_EQ(smaller.weight, (Ints{1, 1, 2}));
  EXPECT_EQ(expanded_order(Ints{2, 0, 1}, groups), (Ints{2, 3, 0, 1}));
}

TEST(Graph, GroupsVerticesWithEqualNeighbourhoodsAndNoOthers) {
  std::mt19937 random(12);
  int grouped = 0;
  for (int instance = 0; instance < 1000; ++instance) {
    const SymmetricMatrix matrix = random_matrix(random, 12);
    const Graph graph = adjacency(matrix);
    const Groups groups = indistinguishable_vertices(graph);
    for (std::int32_t a = 0; a < graph.size(); ++a) {
      for (std::int32_t b = 0; b < a; ++b) {
        ASSERT_EQ(groups.of[a] == groups.of[b],
                  closed_neighbourhood(graph, a) == closed_neighbourhood(graph, b))
            << describe(matrix) << ", vertices " << a << " and " << b;
      }
    }
    grouped += groups.count < graph.size();
  }
  EXPECT_GT(grouped, 100);
}

TEST(Graph, QuotientHasTheEdgesBetweenGroups) {
  std::mt19937 random(13);
  for (int instance = 0; instance < 500; ++instance) {
    const SymmetricMatrix matrix = random_matrix(random, 15);
    const Graph graph = adjacency(matrix);
    Groups groups{Ints(graph.size()), 0};
    for (std::int32_t& group : groups.of) {
      group = static_cast<std::int32_t>(random() % (groups.count + 1));
      groups.count = std::max(groups.count, group + 1);
    }
    std::set<std::pair<std::int32_t, std::int32_t>> expected, found;
    for (std::int32_t a = 0; a < graph.size(); ++a) {
      for (std::int32_t b : graph.neighbours(a)) {
        if (groups.of[a] != groups.of[b]) expected.emplace(groups.of[a], groups.of[b]);
      }
    }
    const Graph smaller = quotient(graph, groups);
    for (std::int32_t a = 0; a < smaller.size(); ++a) {
      for (std::int32_t b : smaller.neighbours(a)) {
        ASSERT_TRUE(found.emplace(a, b).second) << describe(matrix);
      }
    }
    ASSERT_EQ(found, expected) << describe(matrix);
    ASSERT_EQ(std::accumulate(smaller.weight.begin(), smaller.weight.end(), 0),
              graph.size());
  }
}

TEST(Graph, AcceptsOrderZero) {
  const Graph graph = adjacency({0, {0}, {}, {}});
  EXPECT_EQ(indistinguishable_vertices(graph).count, 0);
  EXPECT_EQ(quotient(graph, {{}, 0}).size(), 0);
}

TEST(PairedAnalysis, PutsPartnersIntoOneFront) {
  std::mt19937 random(14);
  for (int instance = 0; instance < 500; ++instance) {
    SymmetricMatrix matrix = random_matrix(random, 25);
    Ints partner(matrix.size);
    std::iota(partner.begin(), partner.end(), 0);
    for (std::int32_t k = 0; k + 1 < matrix.size;
         k += 1 + static_cast<std::int32_t>(random() % 3)) {
      if (partner[k] == k && partner[k + 1] == k + 1) {
        std::swap(partner[k], partner[k + 1]);
      }
    }
    const auto kind = instance % 2 ? OrderingKind::kNatural : OrderingKind::kNested;
    SCOPED_TRACE(describe(matrix));
    AnalyseOptions options{kind, {}};
    if (instance % 3 == 0) options.amalgamation.relaxed = false;
    const Analysis analysis = analyse(
        PreparedMatrix{FactorKind::kLdlt, {matrix, {}}, {}, {}, {}, partner, 0}, options);
    const Symbolic& symbolic = analysis.symbolic;
    ASSERT_NO_THROW(check_symbolic(symbolic, analysis.permuted.lower));
    Ints front(matrix.size);
    for (std::int32_t s = 0; s < symbolic.fronts(); ++s) {
      for (auto k = symbolic.first_column[s]; k < symbolic.first_column[s + 1]; ++k) {
        front[symbolic.permutation[k]] = s;
      }
    }
    for (std::int32_t k = 0; k < matrix.size; ++k) {
      ASSERT_EQ(front[k], front[partner[k]]) << k;
    }
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
