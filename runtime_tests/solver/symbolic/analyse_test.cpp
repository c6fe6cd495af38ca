// The cases of one subject, which share their helpers: over 300 lines.

#include "solver/symbolic/analyse.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "espalier/model/error.h"
#include "solver/matrix/grid.h"
#include "solver/matrix/permute.h"
#include "solver/scaling/prepare.h"
#include "solver/support/random_matrices.h"
#include "solver/symbolic/check_symbolic.h"

namespace espalier::solver {
namespace TEST_SOURCE {

using Ints = std::vector<std::int32_t>;

AnalyseOptions natural(bool relaxed) {
  AnalyseOptions options{OrderingKind::kNatural, {}};
  options.amalgamation.relaxed = relaxed;
  return options;
}

SymmetricMatrix tridiagonal(std::int32_t size) { return make_grid({size, 1, 1}); }

std::int64_t stored_entries(const Symbolic& s) {
  std::int64_t entries = 0;
  for (std::int32_t front = 0; front < s.fronts(); ++front) {
    entries += panel_entries(s.pivots(front), s.front_order(front));
  }
  return entries;
}

TEST(Analyse, GivesTheExampleOfTheHeader) {
  const Symbolic s = analyse(tridiagonal(4), natural(false)).symbolic;
  EXPECT_EQ(s.first_column, (Ints{0, 1, 2, 4}));
  EXPECT_EQ(s.rows, (UnsetVector<std::int32_t>{1, 2}));
  EXPECT_EQ(s.row_start, (std::vector<std::int64_t>{0, 1, 2, 2}));
  EXPECT_EQ(s.parent, (Ints{1, 2, -1}));
  EXPECT_EQ(s.factor_entries, 7);
  EXPECT_EQ(s.factor_flops, 4 + 4 + 4 + 1);
}

TEST(Analyse, TakesMatricesWithoutStructure) {
  for (std::int32_t size : {0, 1, 5}) {
    SymmetricMatrix empty{size, std::vector<std::int64_t>(size + 1, 0), {}, {}};
    const Analysis analysis = analyse(std::move(empty));
    EXPECT_EQ(analysis.symbolic.fronts(), size);
    EXPECT_TRUE(analysis.symbolic.rows.empty());
    check_symbolic(analysis.symbolic, analysis.permuted.lower);
  }
}

TEST(Analyse, FitsSmallMatricesWithAndWithoutRelaxation) {
  std::mt19937 random(5);
  for (int instance = 0; instance < 4000; ++instance) {
    const SymmetricMatrix matrix = random_matrix(random, instance % 4 ? 12 : 60);
    AnalyseOptions options{instance % 2 ? OrderingKind::kNatural : OrderingKind::kNested,
                           {}};
    const Analysis relaxed = analyse(SymmetricMatrix(matrix), options);
    ASSERT_NO_THROW(check_symbolic(relaxed.symbolic, relaxed.permuted.lower))
        << describe(matrix);
    options.amalgamation.relaxed = false;
    const Analysis exact = analyse(SymmetricMatrix(matrix), options);
    ASSERT_NO_THROW(check_symbolic(exact.symbolic, exact.permuted.lower))
        << describe(matrix);

    std::int64_t entries = 0;
    double flops = 0;
    for (const auto& column : symbolic_elimination(exact.permuted.lower)) {
      entries += std::ssize(column);
      flops += static_cast<double>(column.size() * column.size());
    }
    ASSERT_EQ(exact.symbolic.factor_entries, entries) << describe(matrix);
    ASSERT_EQ(exact.symbolic.factor_flops, flops) << describe(matrix);
    ASSERT_EQ(stored_entries(exact.symbolic), entries) << describe(matrix);
    ASSERT_EQ(relaxed.symbolic.factor_entries, entries) << describe(matrix);
    ASSERT_LE(relaxed.symbolic.fronts(), exact.symbolic.fronts()) << describe(matrix);
  }
}

TEST(Analyse, TakesAFewColumnsForOneFrontUnlessAskedForAnOrder) {
  for (const std::int32_t size : {1, 2, 16}) {
    AnalyseTimes times;
    const SymmetricMatrix matrix = tridiagonal(size);
    const Symbolic s = analyse_pattern(matrix, {}, &times);
    EXPECT_EQ(s.first_column, (Ints{0, size}));
    EXPECT_EQ(s.parent, Ints{-1});
    EXPECT_TRUE(s.rows.empty());
    EXPECT_EQ(times.ordering_taken, OrderingKind::kNatural);
    EXPECT_EQ(s.factor_entries, size * (size + 1) / 2);
    double flops = 0;  // a column of k entries: k^2
    for (std::int32_t k = 1; k <= size; ++k) flops += k * k;
    EXPECT_EQ(s.factor_flops, flops);
    ASSERT_NO_THROW(check_symbolic(s, matrix));
  }
  AnalyseOptions asked;
  asked.ordering = OrderingKind::kNatural;
  EXPECT_GT(analyse_pattern(tridiagonal(16), asked).fronts(), 1);
  EXPECT_GT(analyse_pattern(tridiagonal(17)).fronts(), 1);
  const SymmetricMatrix apart{3, {0, 2, 3, 4}, {0, 2, 1, 2}, {1, 1, 1, 1}};
  EXPECT_EQ(analyse_pattern(apart).fronts(), 2);
  AnalyseOptions exact;
  exact.amalgamation.relaxed = false;
  EXPECT_EQ(analyse_pattern(tridiagonal(16), exact).factor_entries, 31);
}

// Every column of a front has, in L, the rows that the front says and no other.
TEST(Analyse, HoldsNoZeroWithoutRelaxation) {
  std::mt19937 random(6);
  for (int instance = 0; instance < 1000; ++instance) {
    const SymmetricMatrix matrix = random_matrix(random, 15);
    const Analysis analysis = analyse(SymmetricMatrix(matrix), natural(false));
    const Symbolic& s = analysis.symbolic;
    const auto columns = symbolic_elimination(analysis.permuted.lower);
    for (std::int32_t front = 0; front < s.fronts(); ++front) {
      std::set<std::int32_t> rows(s.rows_of(front).begin(), s.rows_of(front).end());
      for (auto column = s.first_column[front + 1] - 1; column >= s.first_column[front];
           --column) {
        rows.insert(column);
        ASSERT_EQ(rows, columns[column]) << describe(matrix) << " front " << front;
      }
    }
  }
}

TEST(Analyse, GivesThePermutedMatrix) {
  std::mt19937 random(7);
  for (int instance = 0; instance < 200; ++instance) {
    const SymmetricMatrix matrix = random_matrix(random, 20);
    std::vector<double> dense(matrix.size * matrix.size, 0);
    for (std::int32_t column = 0; column < matrix.size; ++column) {
      for (auto at = matrix.column_start[column]; at < matrix.column_start[column + 1];
           ++at) {
        dense[matrix.row[at] * matrix.size + column] = matrix.value[at];
        dense[column * matrix.size + matrix.row[at]] = matrix.value[at];
      }
    }
    const auto [symbolic, square, form, seconds] = analyse(SymmetricMatrix(matrix));
    ASSERT_TRUE(form.empty());
    ASSERT_TRUE(square.symmetric());
    const SymmetricMatrix& permuted = square.lower;
    ASSERT_EQ(permuted.row.size(), matrix.row.size());
    for (std::int32_t column = 0; column < matrix.size; ++column) {
      std::int32_t last = column - 1;
      for (auto at = permuted.column_start[column];
           at < permuted.column_start[column + 1]; ++at) {
        const std::int32_t row = permuted.row[at];
        ASSERT_GT(row, last) << describe(matrix);
        last = row;
        ASSERT_EQ(permuted.value[at], dense[symbolic.permutation[row] * matrix.size +
                                            symbolic.permutation[column]]);
      }
    }
  }
}

TEST(Analyse, IsTheSameInEveryRun) {
  const Symbolic a = analyse_pattern(make_grid({9, 9, 9}));
  const Symbolic b = analyse_pattern(make_grid({9, 9, 9}));
  EXPECT_EQ(a.permutation, b.permutation);
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_EQ(a.parent, b.parent);
}

TEST(Analyse, TakesAChainOfAMillion) {
  const Analysis analysis = analyse(tridiagonal(1'000'000), natural(true));
  check_symbolic(analysis.symbolic, analysis.permuted.lower);
  EXPECT_EQ(analysis.symbolic.factor_entries, 1'999'999);
}

TEST(Amalgamation, ShrinksTheTreeOfAGridAndStoresFewZeros) {
  const SymmetricMatrix grid = make_grid({15, 15, 15});
  AnalyseOptions exact;
  exact.amalgamation.relaxed = false;
  const Symbolic before = analyse_pattern(grid, exact);
  const Symbolic after = analyse_pattern(grid);
  EXPECT_LT(after.fronts(), before.fronts() / 2);
  EXPECT_LT(static_cast<double>(stored_entries(after)),
            1.25 * static_cast<double>(after.factor_entries));
}

// Children 0 (1 pivot, rows {2}) and 1 (1 pivot, rows {2, 3, 4}) of front 2 (3 pivots).
TEST(Amalgamation, MergesAnyChildThatFillsTheParent) {
  const SupernodeTree tree{{0, 1, 2, 2, 2}, {1, 1, 3}, {2, 4, 3}, {2, 2, -1}};
  AmalgamationOptions options;
  options.relaxed = false;
  const SupernodeTree merged = amalgamate(tree, options);
  EXPECT_EQ(merged.front_of_column, (Ints{0, 1, 1, 1, 1}));
  EXPECT_EQ(merged.pivots, (Ints{1, 4}));
  EXPECT_EQ(merged.order, (Ints{2, 4}));
  EXPECT_EQ(merged.parent, (Ints{1, -1}));
}

// A chain of fronts whose contribution blocks are much larger than their panels: `pivots`
// each, the contribution block of each a few rows short of the whole of its parent.
SupernodeTree narrow_chain(std::int32_t fronts, std::int32_t pivots, std::int32_t rows,
                           std::int32_t missing) {
  SupernodeTree tree;
  for (std::int32_t s = 0; s < fronts; ++s) {
    tree.front_of_column.insert(tree.front_of_column.end(), pivots, s);
    tree.pivots.push_back(pivots);
    tree.order.push_back(pivots + rows + missing * s);
    tree.parent.push_back(s + 1 < fronts ? s + 1 : -1);
  }
  return tree;
}

// Such fronts cost more in additions than in operations.
TEST(Amalgamation, JoinsNarrowFrontsWithLargeContributionBlocks) {
  const SupernodeTree merged = amalgamate(narrow_chain(24, 30, 2000, 60), {});
  EXPECT_LE(merged.fronts(), 24 / 3);
  for (const std::int32_t pivots : merged.pivots) EXPECT_LE(pivots, 256);
  // Where the blocks are no larger than the panels, zeros are as few as ever.
  EXPECT_EQ(amalgamate(narrow_chain(6, 100, 200, 60), {}).fronts(), 6);
}

std::int64_t entries_of(const SupernodeTree& tree) {
  std::int64_t sum = 0;
  for (std::int32_t s = 0; s < tree.fronts(); ++s)
    sum += panel_entries(tree.pivots[s], tree.order[s]);
  return sum;
}

// A path of links of two pivots, each with a leaf of two whose rows are few: the leaves
// fit into small fronts, where half of the panel may be zeros.
SupernodeTree chain_with_leaves(std::int32_t links, std::int32_t rows) {
  SupernodeTree tree;
  for (std::int32_t link = 0; link < links; ++link)
    for (const bool leaf : {true, false}) {
      const auto front = static_cast<std::int32_t>(tree.parent.size());
      tree.front_of_column.insert(tree.front_of_column.end(), 2, front);
      tree.pivots.push_back(2);
      tree.order.push_back(leaf ? 8 : 2 * (links - link) + rows);
      tree.parent.push_back(leaf ? front + 1 : front + 2);
    }
  tree.parent.back() = -1;
  return tree;
}

TEST(Amalgamation, JoinsLinksOfAChainThatHaveTakenLeavesIn) {
  const SupernodeTree chain = chain_with_leaves(100, 1000);
  const SupernodeTree merged = amalgamate(chain, {});
  EXPECT_LE(std::ranges::count_if(merged.order, [](auto rows) { return rows > 500; }), 5);
  EXPECT_LE(5 * entries_of(merged), 6 * entries_of(chain));
}

// Whatever the shape, what comes by the rule for narrow children is two per cent.
TEST(Amalgamation, BringsFewZerosByNarrowChildren) {
  for (const std::int32_t missing : {0, 1, 5, 20, 39, 80}) {
    const SupernodeTree chain = narrow_chain(60, 4, 2000, missing);
    const SupernodeTree merged = amalgamate(chain, {});
    const auto before = static_cast<double>(entries_of(chain));
    EXPECT_LE(static_cast<double>(entries_of(merged)), 1.2 * before) << missing;
  }
}

class CheckSymbolic : public testing::Test {
 protected:
  void expect_fault(const std::string& words) {
    try {
      check_symbolic(analysis_.symbolic, analysis_.permuted.lower);
      FAIL() << "expected a fault: " << words;
    } catch (const InvalidInput& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  }
  Analysis analysis_ = analyse(tridiagonal(4), natural(false));
  Symbolic& symbolic_ = analysis_.symbolic;
};

TEST_F(CheckSymbolic, FindsAMissingRow) {
  symbolic_.rows[0] = 2;
  symbolic_.parent[0] = 2;
  expect_fault("entry (1, 0) is outside front 0");
}

TEST_F(CheckSymbolic, FindsAWrongParent) {
  symbolic_.parent[0] = 2;
  expect_fault("front 0: parent 2, expected 1");
}

TEST_F(CheckSymbolic, FindsAColumnThatComesTwice) {
  symbolic_.permutation[0] = symbolic_.permutation[1];
  expect_fault("twice in the permutation");
}

TEST_F(CheckSymbolic, FindsATreeOutOfPostorder) {
  // Columns 0 and 2 hang below 3, column 1 is a root between them and their parent.
  SymmetricMatrix matrix{4, {0, 1, 2, 3, 3}, {3, 1, 3}, {1, 1, 1}};
  symbolic_ = {4, {0, 1, 2, 3}, {0, 1, 2, 3, 4}, {0, 1, 1, 2, 2}, {3, 3}, {3, -1, 3, -1}};
  analysis_.permuted.lower = matrix;
  expect_fault("not in postorder");
}

TEST(Analyse, MovesBothTrianglesOfAPreparedMatrix) {
  std::mt19937 random(22);
  for (int instance = 0; instance < 100; ++instance) {
    GeneralMatrix matrix = expanded(random_matrix(random, 20));
    for (double& value : matrix.value) {
      value = 1 + static_cast<double>(random() % 50);  // no longer symmetric
    }
    PreparedMatrix prepared = prepare(InputMatrix(matrix), FactorKind::kLu);
    const SquareMatrix before = prepared.matrix;
    const Analysis analysis = analyse(std::move(prepared));
    check_symbolic(analysis.symbolic, analysis.permuted.lower);
    const SquareMatrix expected = permuted(before, analysis.symbolic.permutation);
    ASSERT_EQ(analysis.permuted.lower.row, expected.lower.row);
    ASSERT_EQ(analysis.permuted.lower.value, expected.lower.value);
    ASSERT_EQ(analysis.permuted.upper, expected.upper);
    SquareMatrix again = analysis.permuted;
    BlockForm form = analysis.form;
    refill(again, prepared, analysis.symbolic.permutation, matrix, &form.coupling);
    ASSERT_EQ(form.coupling.value, analysis.form.coupling.value);
    ASSERT_EQ(again.lower.value, expected.lower.value);
    ASSERT_EQ(again.upper, expected.upper);
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
