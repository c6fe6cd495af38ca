#include "solver/symbolic/bundle_siblings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "solver/support/random_matrices.h"
#include "solver/symbolic/analyse.h"
#include "solver/symbolic/check_symbolic.h"

namespace espalier::solver {
namespace TEST_SOURCE {

using Ints = std::vector<std::int32_t>;

constexpr BundleOptions kAll{.parent_work = 0, .bundle_work = 1e18};

// A front a column; the children's only row is the last column, if there is a root.
Symbolic star(std::int32_t leaves, bool root) {
  Symbolic symbolic;
  symbolic.size = leaves + (root ? 1 : 0);
  symbolic.first_column.resize(symbolic.size + 1);
  std::iota(symbolic.first_column.begin(), symbolic.first_column.end(), 0);
  symbolic.permutation.assign(symbolic.first_column.begin(),
                              symbolic.first_column.end() - 1);
  symbolic.parent.assign(symbolic.size, root ? leaves : -1);
  symbolic.row_start.assign(symbolic.size + 1, 0);
  if (root) {
    symbolic.parent.back() = -1;
    symbolic.rows.assign(leaves, leaves);
    std::iota(symbolic.row_start.begin(), symbolic.row_start.end() - 1, 0);
    symbolic.row_start.back() = leaves;
  }
  return symbolic;
}

TEST(BundleSiblings, MakesTheLastLeafOfAnArrowTheParentOfTheOthers) {
  const Symbolic arrow = star(4, true);
  const Symbolic bundled = bundle_siblings(arrow, kAll);
  EXPECT_EQ(bundled.parent, (Ints{3, 3, 3, 4, -1}));
  EXPECT_EQ(bundled.rows, arrow.rows);
  EXPECT_EQ(bundled.row_start, arrow.row_start);
}

// Front 2 eliminates columns 2 and 3; each of 0 and 1 has one of them as its row.
TEST(BundleSiblings, GivesTheHeadTheRowsOfAll) {
  Symbolic symbolic;
  symbolic.size = 4;
  symbolic.permutation = {0, 1, 2, 3};
  symbolic.first_column = {0, 1, 2, 4};
  symbolic.row_start = {0, 1, 2, 2};
  symbolic.rows = {2, 3};
  symbolic.parent = {2, 2, -1};
  const Symbolic bundled = bundle_siblings(symbolic, kAll);
  EXPECT_EQ(bundled.parent, (Ints{1, 2, -1}));
  EXPECT_EQ(bundled.rows, (UnsetVector<std::int32_t>{2, 2, 3}));
  EXPECT_EQ(bundled.row_start, (std::vector<std::int64_t>{0, 1, 3, 3}));
  // Where a task costs nothing, the union is not worth its bytes.
  BundleOptions options = kAll;
  options.task_bytes = 0;
  EXPECT_EQ(bundle_siblings(symbolic, options).parent, symbolic.parent);
}

// A leaf of an arrow is 4 flops, 2 entries assembled at 10, and 5000 of a front.
TEST(BundleSiblings, KeepsBundlesSmallAndLeavesSmallTreesAlone) {
  const Symbolic arrow = star(6, true);
  BundleOptions options = kAll;
  options.bundle_work = 2.5 * 5024;
  EXPECT_EQ(bundle_siblings(arrow, options).parent, (Ints{1, 6, 3, 6, 5, 6, -1}));
  EXPECT_EQ(bundle_siblings(arrow).parent, arrow.parent);
}

TEST(BundleSiblings, TakesARootForASibling) {
  const Symbolic bundled = bundle_siblings(star(4, false), kAll);
  EXPECT_EQ(bundled.parent, (Ints{3, 3, 3, -1}));
  EXPECT_TRUE(bundled.rows.empty());
  EXPECT_EQ(bundle_siblings(star(1, false), kAll).parent, Ints{-1});
  EXPECT_EQ(bundle_siblings(star(0, false), kAll).fronts(), 0);
}

// What is new of every parent and row follows from the definition.
TEST(BundleSiblings, OfRandomTreesIsALegalTreeOfTheSameFronts) {
  std::mt19937 random(7);
  std::int64_t bundles = 0;
  for (int instance = 0; instance < 2000; ++instance) {
    const SymmetricMatrix matrix = random_matrix(random, instance % 4 ? 15 : 60);
    AnalyseOptions options{instance % 2 ? OrderingKind::kNatural : OrderingKind::kNested,
                           {}};
    options.amalgamation.relaxed = instance % 3 > 0;
    options.bundles.parent_work = 1e18;
    const Symbolic before = analyse_pattern(matrix, options);
    options.bundles = kAll;
    options.bundles.bundle_work = instance % 5 ? 1e18 : 2e4;
    const Analysis analysis = analyse(SymmetricMatrix(matrix), options);
    const Symbolic& after = analysis.symbolic;
    ASSERT_NO_THROW(check_symbolic(after, analysis.permuted.lower)) << describe(matrix);
    ASSERT_EQ(after.first_column, before.first_column);
    std::vector<std::set<std::int32_t>> rows(after.fronts());
    for (std::int32_t s = 0; s < after.fronts(); ++s) {
      rows[s].insert(before.rows_of(s).begin(), before.rows_of(s).end());
      const std::int32_t parent = after.parent[s];
      if (parent == before.parent[s]) continue;
      ++bundles;
      ASSERT_EQ(before.parent[s], before.parent[parent]) << describe(matrix);
      ASSERT_EQ(after.parent[parent], before.parent[parent]) << describe(matrix);
    }
    for (std::int32_t s = 0; s < after.fronts(); ++s)
      if (after.parent[s] != before.parent[s])
        rows[after.parent[s]].insert(before.rows_of(s).begin(), before.rows_of(s).end());
    for (std::int32_t s = 0; s < after.fronts(); ++s)
      ASSERT_TRUE(std::ranges::equal(rows[s], after.rows_of(s))) << describe(matrix);
  }
  EXPECT_GT(bundles, 1000);
}

TEST(BundleSiblings, TakesAMillionLeavesOrRoots) {
  for (const bool root : {true, false}) {
    const Symbolic bundled = bundle_siblings(star(1'000'000, root));
    const std::int32_t top = root ? 1'000'000 : -1;
    const auto heads = std::ranges::count(bundled.parent, top);
    EXPECT_GE(heads, 5000);
    EXPECT_LE(heads, 5100);
    EXPECT_EQ(bundled.rows.size(), root ? 1'000'000u : 0u);
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
