#include "solver/ordering/grouped_pattern.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "solver/matrix/grid.h"
#include "solver/ordering/elimination_order.h"
#include "solver/ordering/graph.h"
#include "solver/support/random_matrices.h"
#include "solver/symbolic/analyse.h"
#include "solver/symbolic/check_symbolic.h"

namespace espalier::solver {
namespace TEST_SOURCE {

using Ints = std::vector<std::int32_t>;
using Equal = GroupedPattern::Equal;

std::set<std::int32_t> closed_neighbourhood(const Graph& graph, std::int32_t vertex) {
  const auto neighbours = graph.neighbours(vertex);
  std::set<std::int32_t> result(neighbours.begin(), neighbours.end());
  result.insert(vertex);
  return result;
}

Groups equal_columns(const SymmetricMatrix& matrix, std::int32_t threads = 1) {
  std::optional<Groups> groups;
  on_pool(threads, 1'000'000, [&](TaskPool& pool) {
    groups = indistinguishable_columns(matrix, matrix.size, pool);
  });
  return groups.value();
}

std::set<std::pair<std::int32_t, std::int32_t>> edges(const SymmetricMatrix& lower) {
  std::set<std::pair<std::int32_t, std::int32_t>> result;
  for (std::int32_t column = 0; column < lower.size; ++column)
    for (auto at = lower.column_start[column]; at < lower.column_start[column + 1]; ++at)
      result.emplace(lower.row[at], column);
  return result;
}

// Each column of a matrix in the place of `copies` that are all alike, numbered anyhow.
SymmetricMatrix blown_up(const SymmetricMatrix& matrix, const Groups& groups) {
  SymmetricMatrix result{static_cast<std::int32_t>(groups.of.size()), {0}, {}, {}};
  const auto between = edges(matrix);
  for (std::int32_t column = 0; column < result.size; ++column) {
    for (std::int32_t row = column; row < result.size; ++row) {
      const auto [low, high] = std::minmax({groups.of[column], groups.of[row]});
      if (low == high || between.contains({high, low})) result.row.push_back(row);
    }
    result.column_start.push_back(std::ssize(result.row));
  }
  result.value.assign(result.row.size(), 1.0);
  return result;
}

// Of `count` groups, each of one to four columns.
Groups random_groups(std::mt19937& random, std::int32_t count) {
  Ints of;
  for (std::int32_t group = 0; group < count; ++group)
    of.insert(of.end(), 1 + random() % 4, group);
  std::shuffle(of.begin(), of.end(), random);
  return {of, count};
}

// 0 - 1 - 2 - 3, and 1 - 3 ,  2 and 3 see the same: 1, 2, 3
TEST(GroupedPattern, FindsEqualColumnsByHand) {
  const SymmetricMatrix matrix{4, {0, 1, 3, 4, 4}, {1, 2, 3, 3}, {1, 1, 1, 1}};
  EXPECT_EQ(equal_columns(matrix).of, (Ints{0, 1, 2, 2}));
  const GroupedPattern grouped(matrix, {}, Equal::kJoined, {});
  EXPECT_EQ(edges(grouped.pattern()), edges({3, {0, 1, 2, 2}, {1, 2}, {}}));
  EXPECT_EQ(grouped.weight(), (Ints{1, 1, 2}));
  EXPECT_EQ(grouped.entries(), 4 + 4);
  EXPECT_EQ(grouped.expanded({2, 0, 1}), (Ints{2, 3, 0, 1}));
}

TEST(GroupedPattern, IsTheMatrixItselfWhereHardlyAnythingIsEqual) {
  const SymmetricMatrix grid = make_grid({9, 8, 1});
  const GroupedPattern grouped(grid, {}, Equal::kJoined, {});
  EXPECT_TRUE(grouped.is_trivial());
  EXPECT_EQ(&grouped.pattern(), &grid);
  EXPECT_EQ(grouped.entries(), std::ssize(grid.row));
  TaskPool alone(1);
  EXPECT_FALSE(indistinguishable_columns(grid, 0.9 * grid.size, alone));
}

// Only some columns of a large matrix are looked at to see whether it has any.
TEST(GroupedPattern, FindsTheUnknownsOfPointsWhateverTheirNumbers) {
  const SymmetricMatrix points = make_grid({30, 20, 1});
  for (const std::int32_t unknowns : {1, 2, 3, 4, 6}) {
    for (const bool by_points : {true, false}) {
      Groups groups{Ints(unknowns * points.size), points.size};
      for (std::int32_t k = 0; k < std::ssize(groups.of); ++k)
        groups.of[k] = by_points ? k / unknowns : k % points.size;
      const SymmetricMatrix matrix = blown_up(points, groups);
      const GroupedPattern grouped(matrix, {}, Equal::kJoined, {});
      EXPECT_EQ(grouped.pattern().size, points.size) << unknowns << by_points;
    }
  }
}

// Up to 480 entries under a diagonal.
TEST(GroupedPattern, FindsManyUnknownsOfAPoint) {
  constexpr std::int32_t kUnknowns = 160;
  const SymmetricMatrix points = make_grid({4, 4, 1});
  Groups groups{Ints(kUnknowns * points.size), points.size};
  for (std::int32_t k = 0; k < std::ssize(groups.of); ++k) groups.of[k] = k / kUnknowns;
  const SymmetricMatrix matrix = blown_up(points, groups);
  const GroupedPattern grouped(matrix, {}, Equal::kJoined, {});
  EXPECT_EQ(grouped.pattern().size, points.size);
  EXPECT_EQ(grouped.weight(), Ints(points.size, kUnknowns));
}

TEST(GroupedPattern, GroupsColumnsWithEqualNeighbourhoodsAndNoOthers) {
  std::mt19937 random(12);
  int grouped = 0;
  for (int instance = 0; instance < 1000; ++instance) {
    const SymmetricMatrix matrix = random_matrix(random, 12);
    const Graph graph = adjacency(matrix);
    const Groups groups = equal_columns(matrix);
    ASSERT_EQ(groups.of, equal_columns(matrix, 3).of);
    for (std::int32_t a = 0; a < graph.size(); ++a) {
      for (std::int32_t b = 0; b < a; ++b) {
        ASSERT_EQ(groups.of[a] == groups.of[b],
                  closed_neighbourhood(graph, a) == closed_neighbourhood(graph, b))
            << describe(matrix) << ", columns " << a << " and " << b;
      }
    }
    grouped += groups.count < graph.size();
  }
  EXPECT_GT(grouped, 100);
}

TEST(GroupedPattern, QuotientHasTheEntriesBetweenGroups) {
  std::mt19937 random(13);
  for (int instance = 0; instance < 500; ++instance) {
    const SymmetricMatrix matrix = random_matrix(random, 15);
    Groups groups{Ints(matrix.size), 0};
    for (std::int32_t& group : groups.of) {
      group = static_cast<std::int32_t>(random() % (groups.count + 1));
      groups.count = std::max(groups.count, group + 1);
    }
    std::set<std::pair<std::int32_t, std::int32_t>> expected;
    for (const auto& [row, column] : edges(matrix)) {
      const auto [low, high] = std::minmax({groups.of[row], groups.of[column]});
      if (low != high) expected.emplace(high, low);
    }
    const SymmetricMatrix smaller = quotient(matrix, groups);
    ASSERT_EQ(edges(smaller), expected) << describe(matrix);
    ASSERT_EQ(smaller.row.size(), expected.size()) << describe(matrix);
  }
}

TEST(GroupedPattern, AcceptsOrderZero) {
  EXPECT_EQ(equal_columns({0, {0}, {}, {}}).count, 0);
  EXPECT_EQ(quotient({0, {0}, {}, {}}, {{}, 0}).size, 0);
}

TEST(GroupedPattern, KeepsPartnersOfEqualColumnsTogether) {
  // All are neighbours: pairs (0 2) (1 3) and 4 alone.
  const SymmetricMatrix full = blown_up({1, {0, 0}, {}, {}}, {Ints(5, 0), 1});
  const GroupedPattern grouped(full, Ints{2, 3, 0, 1, 4}, Equal::kJoined, {});
  EXPECT_EQ(grouped.weight(), Ints{5});
  EXPECT_EQ(grouped.expanded({0}), (Ints{0, 2, 1, 3, 4}));
}

// What was given is the order, whatever columns are alike.
TEST(GroupedPattern, LeavesTheNaturalOrderAlone) {
  const SymmetricMatrix twins =
      blown_up(make_grid({3, 1, 1}), {Ints{0, 1, 2, 0, 1, 2}, 3});
  EXPECT_EQ(compute_ordering(twins, OrderingKind::kNatural), (Ints{0, 1, 2, 3, 4, 5}));
}

// The law that grouping rests on: the same elimination, found by groups or by columns.
TEST(EliminationOrderOfGroups, EqualsThatOfTheColumns) {
  std::mt19937 random(15);
  int grouped_ones = 0;
  for (int instance = 0; instance < 400; ++instance) {
    const SymmetricMatrix small = random_matrix(random, 14);
    const SymmetricMatrix matrix = blown_up(small, random_groups(random, small.size));
    const GroupedPattern grouped(matrix, {}, Equal::kJoined, {});
    Ints order(grouped.pattern().size);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    const EliminationOrder by_groups =
        elimination_order(grouped, order, 1 + instance % 2);
    const EliminationOrder by_columns =
        elimination_order(matrix, grouped.expanded(order));
    ASSERT_EQ(by_groups.permutation, by_columns.permutation) << describe(matrix);
    ASSERT_EQ(by_groups.parent, by_columns.parent) << describe(matrix);
    ASSERT_EQ(by_groups.counts, by_columns.counts) << describe(matrix);
    ASSERT_EQ(by_groups.flops, by_columns.flops) << describe(matrix);
    ASSERT_EQ(grouped.entries(), std::ssize(matrix.row)) << describe(matrix);
    grouped_ones += !grouped.is_trivial();
  }
  EXPECT_GT(grouped_ones, 300);
}

// Fronts and rows against the pattern itself, in which no group has been looked for.
TEST(EliminationOrderOfGroups, GivesFrontsWithAllTheirRows) {
  std::mt19937 random(16);
  for (int instance = 0; instance < 300; ++instance) {
    const SymmetricMatrix small = random_matrix(random, 25);
    const SymmetricMatrix matrix = blown_up(small, random_groups(random, small.size));
    SCOPED_TRACE(describe(matrix));
    AnalyseOptions options{instance % 2 ? OrderingKind::kAmd : OrderingKind::kNested, {}};
    options.workers = 1 + instance % 3;
    if (instance % 3 == 0) options.amalgamation.relaxed = false;
    const Analysis analysis = analyse(SymmetricMatrix(matrix), options);
    ASSERT_NO_THROW(check_symbolic(analysis.symbolic, analysis.permuted.lower));
  }
}

// Vertex 2 of a path 0 - 1 - 2 - 3 hangs from 3 when 0 and 1 are gone, or 3 from it.
TEST(EliminationOfForest, IsThatOfItsLeaves) {
  const auto found = elimination_of_forest(make_grid({4, 1, 1}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->counts, (Ints{2, 2, 2, 1}));
  std::mt19937 random(17);
  int forests = 0;
  for (int instance = 0; instance < 600; ++instance) {
    const auto size = static_cast<std::int32_t>(random() % 40);
    std::vector<Ints> rows(size);
    for (std::int32_t v = 1; v < size; ++v)
      if (random() % 6 != 0) rows[random() % v].push_back(v);
    const bool has_cycle = instance % 3 == 0 && size > 3;
    if (has_cycle)  // beside what there is: a triangle, or an entry twice
      for (const std::int32_t v : {1, 2}) rows[0].push_back(v), rows[1].push_back(2);
    SymmetricMatrix matrix{size, {0}, {}, {}};
    for (const Ints& of_column : rows) {
      matrix.row.insert(matrix.row.end(), of_column.begin(), of_column.end());
      matrix.column_start.push_back(std::ssize(matrix.row));
    }
    const auto order = elimination_of_forest(matrix);
    ASSERT_EQ(order.has_value(), !has_cycle) << describe(matrix);
    if (!order) continue;
    ++forests;
    const EliminationOrder other = elimination_order(matrix, order->permutation);
    ASSERT_EQ(order->permutation, other.permutation) << describe(matrix);
    ASSERT_EQ(order->parent, other.parent) << describe(matrix);
    ASSERT_EQ(order->counts, other.counts) << describe(matrix);
    for (std::int32_t row = 0; row < size; ++row)
      ASSERT_TRUE(std::ranges::is_permutation(order->rows.columns_of(row),
                                              other.rows.columns_of(row)))
          << describe(matrix);
    ASSERT_EQ(order->flops, other.flops);
  }
  EXPECT_GT(forests, 300);
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
