#include "solver/ordering/elimination_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "solver/matrix/permute.h"
#include "solver/support/identity.h"
#include "solver/support/random_matrices.h"

namespace espalier::solver {
namespace TEST_SOURCE {

using Ints = std::vector<std::int32_t>;

// Rows of the strictly lower triangle: chain, star and so on without values.
LowerRows lower_rows(const std::vector<Ints>& columns_of_row) {
  LowerRows rows{static_cast<std::int32_t>(columns_of_row.size()), {0}, {}};
  for (const Ints& columns : columns_of_row) {
    rows.column.insert(rows.column.end(), columns.begin(), columns.end());
    rows.row_start.push_back(std::ssize(rows.column));
  }
  return rows;
}

// The 11 x 11 example of [Dav06], figure 4.2.
TEST(EliminationTree, ReproducesTheExampleOfDavis) {
  const LowerRows rows = lower_rows(
      {{}, {}, {1}, {}, {}, {0, 3}, {0}, {1, 4}, {5}, {2, 3, 5, 7}, {2, 4, 6, 7, 9}});
  EXPECT_EQ(elimination_tree(rows), (Ints{5, 2, 7, 5, 7, 6, 8, 9, 9, 10, -1}));
}

TEST(EliminationTree, IsAChainForAnArrowPointingDown) {
  EXPECT_EQ(elimination_tree(lower_rows({{}, {}, {}, {0, 1, 2}})), (Ints{3, 3, 3, -1}));
  EXPECT_EQ(elimination_tree(lower_rows({{}, {0}, {0}, {0}})), (Ints{1, 2, 3, -1}));
}

TEST(EliminationTree, MatchesSymbolicEliminationOnSmallMatrices) {
  std::mt19937 random(1);
  for (int instance = 0; instance < 3000; ++instance) {
    const SymmetricMatrix matrix = random_matrix(random, 12);
    const auto columns = symbolic_elimination(matrix);
    const Ints parent = elimination_tree(permuted_rows(matrix, identity(matrix.size)));
    for (std::int32_t column = 0; column < matrix.size; ++column) {
      const std::int32_t expected =
          columns[column].size() < 2 ? -1 : *std::next(columns[column].begin());
      ASSERT_EQ(parent[column], expected) << describe(matrix) << " column " << column;
    }
  }
}

TEST(ForestPostorder, PutsChildrenFirstAndSiblingsByNumber) {
  EXPECT_EQ(postordered(Ints{}).order, Ints{});
  EXPECT_EQ(postordered(Ints{-1}).order, Ints{0});
  EXPECT_EQ(postordered(Ints{3, 4, 3, 5, 5, -1, -1}).order, (Ints{0, 2, 3, 1, 4, 5, 6}));
}

// Parents of up to twenty nodes, each greater than its children.
Ints random_forest(std::mt19937& random) {
  const int size = std::uniform_int_distribution<int>(1, 20)(random);
  Ints parent(size);
  for (int node = 0; node < size; ++node) {
    const int above = std::uniform_int_distribution<int>(node + 1, size + 2)(random);
    parent[node] = above < size ? above : -1;
  }
  return parent;
}

TEST(ForestPostorder, KeepsSubtreesTogetherOnRandomForests) {
  std::mt19937 random(2);
  for (int instance = 0; instance < 1000; ++instance) {
    const Ints parent = random_forest(random);
    const int size = static_cast<int>(parent.size());
    const Ints order = postordered(parent).order;
    const Ints place = inverse_permutation(order);
    Ints first(place), count(size, 1);
    for (int node = 0; node < size; ++node) {
      ASSERT_EQ(place[node] - first[node] + 1, count[node]) << "instance " << instance;
      if (parent[node] < 0) continue;
      ASSERT_LT(place[node], place[parent[node]]);
      first[parent[node]] = std::min(first[parent[node]], first[node]);
      count[parent[node]] += count[node];
    }
  }
}

// Whatever the nodes' numbers are, as long as their order is the same.
TEST(ForestPostorder, FollowsTheOrderThatIsGiven) {
  std::mt19937 random(4);
  for (int instance = 0; instance < 1000; ++instance) {
    const Ints parent = random_forest(random);
    const int size = static_cast<int>(parent.size());
    Ints named = identity(size);
    std::ranges::shuffle(named, random);
    Ints parent_of_named(size);
    for (int node = 0; node < size; ++node)
      parent_of_named[named[node]] = parent[node] < 0 ? -1 : named[parent[node]];
    const PostorderedForest plain = postordered(parent);
    const PostorderedForest forest = postordered(parent_of_named, named);
    ASSERT_EQ(forest.order, composed(named, plain.order)) << "instance " << instance;
    ASSERT_EQ(forest.number, inverse_permutation(forest.order));
    ASSERT_EQ(forest.parent, plain.parent);
    for (int k = 0; k < size; ++k) {
      const int above = parent[plain.order[k]];
      ASSERT_EQ(forest.parent[k], above < 0 ? -1 : plain.number[above]);
    }
  }
}

TEST(ForestPostorder, TakesAChainOfAMillion) {
  Ints parent = identity(1'000'000);
  for (std::int32_t& above : parent) ++above;
  parent.back() = -1;
  EXPECT_EQ(postordered(parent).order, identity(1'000'000));
}

TEST(ColumnCounts, MatchSymbolicEliminationOnSmallMatrices) {
  std::mt19937 random(3);
  for (int instance = 0; instance < 3000; ++instance) {
    const SymmetricMatrix matrix = random_matrix(random, 12);
    const Ints order =
        postordered(elimination_tree(permuted_rows(matrix, identity(matrix.size)))).order;
    const LowerRows rows = permuted_rows(matrix, order);
    const Ints counts = column_counts(rows, elimination_tree(rows));
    const auto columns = symbolic_elimination(permuted(matrix, order));
    for (std::int32_t column = 0; column < matrix.size; ++column) {
      ASSERT_EQ(counts[column], std::ssize(columns[column]))
          << describe(matrix) << " column " << column << " in postorder";
    }
  }
}

// A chain is counted one by one, an arrow that fills everything is not.
TEST(ColumnCounts, OfNoFillAndOfAllFill) {
  constexpr std::int32_t kSize = 300;
  std::vector<Ints> chain(kSize), arrow(kSize);
  for (std::int32_t row = 1; row < kSize; ++row) {
    chain[row] = {row - 1};
    arrow[row] = {0};
  }
  Ints expected(kSize, 2);
  expected.back() = 1;
  const LowerRows chain_rows = lower_rows(chain), arrow_rows = lower_rows(arrow);
  EXPECT_EQ(column_counts(chain_rows, elimination_tree(chain_rows)), expected);
  for (std::int32_t column = 0; column < kSize; ++column)
    expected[column] = kSize - column;
  EXPECT_EQ(column_counts(arrow_rows, elimination_tree(arrow_rows)), expected);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
