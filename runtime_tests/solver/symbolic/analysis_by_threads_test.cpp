// The passes that follow an ordering, shared out among threads.

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "solver/matrix/grid.h"
#include "solver/support/random_matrices.h"
#include "solver/symbolic/analyse.h"
#include "solver/symbolic/independent_subtrees.h"

namespace espalier::solver {
namespace TEST_SOURCE {

using Ints = std::vector<std::int32_t>;

void expect_equal(const Symbolic& one, const Symbolic& other) {
  EXPECT_EQ(one.permutation, other.permutation);
  EXPECT_EQ(one.first_column, other.first_column);
  EXPECT_EQ(one.row_start, other.row_start);
  EXPECT_EQ(one.rows, other.rows);
  EXPECT_EQ(one.parent, other.parent);
  EXPECT_EQ(one.factor_entries, other.factor_entries);
  EXPECT_EQ(one.factor_flops, other.factor_flops);
}

AnalyseOptions by(OrderingKind kind, std::int32_t workers = 1) {
  AnalyseOptions options{kind, {}};
  options.workers = workers;
  return options;
}

// What is recorded is cut as for many threads.
Symbolic recorded(const SymmetricMatrix& matrix, const AnalyseOptions& options,
                  RecordedPhases& phases) {
  return analyse_pattern(matrix, options, nullptr, {}, &phases);
}

TEST(AnalysisByThreads, CutsSmallMatricesAsOneThreadDoesNot) {
  std::mt19937 random(1);
  for (int instance = 0; instance < 300; ++instance) {
    const SymmetricMatrix matrix = random_matrix(random, 40);
    const AnalyseOptions options = by(OrderingKind::kNatural);
    RecordedPhases phases;
    expect_equal(recorded(matrix, options, phases), analyse_pattern(matrix, options));
    ASSERT_FALSE(HasFailure()) << describe(matrix);
  }
}

TEST(AnalysisByThreads, FillsRowsOfSubtreesAndOfWhatIsAbove) {
  for (const GridShape& shape :
       {GridShape{100, 100, 1}, GridShape{400, 20, 1}, GridShape{16, 16, 16}}) {
    const SymmetricMatrix grid = make_grid(shape);
    const AnalyseOptions options = by(OrderingKind::kNested);
    RecordedPhases phases;
    expect_equal(recorded(grid, options, phases), analyse_pattern(grid, options));
    if (shape.nz > 1) continue;
    const auto& rows = phases.back().tasks.front();
    ASSERT_FALSE(rows.loops.empty());
    EXPECT_GT(rows.loops.front().size(), 32U) << "of parts";
  }
}

TEST(AnalysisByThreads, IsTheSameForAnyNumberOfThreads) {
  const SymmetricMatrix grid = make_grid({300, 230, 1});
  const Symbolic one = analyse_pattern(grid, by(OrderingKind::kNested));
  for (const std::int32_t workers : {2, 4})
    expect_equal(analyse_pattern(grid, by(OrderingKind::kNested, workers)), one);
}

TEST(IndependentSubtrees, OfAChainAreItsBottom) {
  Ints chain(128);
  for (std::int32_t k = 0; k < 128; ++k) chain[k] = k < 127 ? k + 1 : -1;
  const IndependentSubtrees trees = independent_subtrees(chain);
  ASSERT_EQ(trees.parts.size(), 1U);
  EXPECT_EQ(trees.parts[0].first, 0);
  EXPECT_EQ(trees.parts[0].last, 1);
  ASSERT_EQ(trees.top.size(), 126U);
  EXPECT_EQ(trees.top.front(), 2);
  EXPECT_TRUE(independent_subtrees(Ints{}).parts.empty());
}

TEST(IndependentSubtrees, OfAStarAreLeavesTogether) {
  Ints star(6401, 6400);
  star.back() = -1;
  const IndependentSubtrees trees = independent_subtrees(star);
  EXPECT_EQ(trees.parts.size(), 64U);
  EXPECT_EQ(trees.parts.front().first, 0);
  EXPECT_EQ(trees.parts.back().last, 6399);
  EXPECT_EQ(trees.top, Ints{6400});
}

TEST(IndependentSubtrees, AreTheLargestThatWeighLittle) {
  std::mt19937 random(2);
  for (int instance = 0; instance < 200; ++instance) {
    // A forest in postorder: the last nodes without a parent hang below a new one.
    Ints parent, open;
    std::vector<std::int64_t> weight = {0};
    for (std::int32_t node = 0; node < 400; ++node) {
      parent.push_back(-1);
      for (auto k = random() % 3; k > 0 && !open.empty(); --k) {
        parent[open.back()] = node;
        open.pop_back();
      }
      open.push_back(node);
      weight.push_back(weight.back() + static_cast<std::int64_t>(random() % 10));
    }
    const IndependentSubtrees trees = independent_subtrees(parent, weight);
    std::vector<int> seen(parent.size(), 0);
    for (const std::int32_t node : trees.top) ++seen[node];
    const std::int64_t most = weight.back() / 64;
    const auto of = [&](std::int32_t first, std::int32_t last) {
      return weight[last + 1] - weight[first];
    };
    std::int32_t before = -2, begin = 0;  // the last node of the part before
    for (const auto& [first, last] : trees.parts) {
      EXPECT_LE(of(first, last), most);
      EXPECT_TRUE(before + 1 != first || of(begin, last) > most) << "neighbours that fit";
      for (std::int32_t node = first; node <= last; ++node) {
        ++seen[node];
        const std::int32_t above = parent[node];
        EXPECT_TRUE(above <= last || std::ranges::binary_search(trees.top, above));
      }
      before = last;
      begin = first;
    }
    ASSERT_EQ(seen, std::vector<int>(parent.size(), 1));
    for (const std::int32_t node : trees.top) {  // with all below it too heavy
      std::int32_t first = node;
      while (first > 0 && parent[first - 1] >= 0 && parent[first - 1] <= node) --first;
      EXPECT_GT(of(first, node), most);
    }
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
