#include "solver/ordering.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "espalier/model/error.h"
#include "random_matrices.h"
#include "solver/analyse.h"
#include "solver/grid.h"

namespace espalier::solver {
namespace {

class Ordering : public testing::TestWithParam<OrderingKind> {
 protected:
  void SetUp() override {
    if (!available(GetParam())) GTEST_SKIP() << "not in this build";
  }
  void expect_permutation(const SymmetricMatrix& matrix) {
    std::vector<std::int32_t> order = compute_ordering(matrix, GetParam());
    std::sort(order.begin(), order.end());
    std::vector<std::int32_t> all(matrix.size);
    std::iota(all.begin(), all.end(), 0);
    ASSERT_EQ(order, all) << describe(matrix);
  }
};

TEST_P(Ordering, IsAPermutationOfSmallMatrices) {
  std::mt19937 random(4);
  for (int instance = 0; instance < 500; ++instance) {
    expect_permutation(random_matrix(random, 30));
  }
}

TEST_P(Ordering, TakesEmptyAndDiagonalMatrices) {
  expect_permutation({0, {0}, {}, {}});
  expect_permutation({1, {0, 1}, {0}, {1.0}});
  expect_permutation({3, {0, 0, 0, 0}, {}, {}});
  expect_permutation({3, {0, 1, 2, 3}, {0, 1, 2}, {1, 1, 1}});
}

TEST_P(Ordering, IsTheSameInEveryRun) {
  const SymmetricMatrix grid = make_grid({20, 20, 3});
  EXPECT_EQ(compute_ordering(grid, GetParam()), compute_ordering(grid, GetParam()));
}

TEST_P(Ordering, KeepsTheFactorOfAGridSparse) {
  if (GetParam() == OrderingKind::kNatural) GTEST_SKIP() << "does not reduce fill";
  const SymmetricMatrix grid = make_grid({60, 60, 1});
  EXPECT_LT(analyse_pattern(grid, {GetParam(), {}}).factor_entries, 85'000);
  EXPECT_GT(analyse_pattern(grid, {OrderingKind::kNatural, {}}).factor_entries, 200'000);
}

INSTANTIATE_TEST_SUITE_P(Libraries, Ordering,
                         testing::Values(OrderingKind::kMetis, OrderingKind::kScotch,
                                         OrderingKind::kAmd, OrderingKind::kNatural),
                         [](const auto& each) { return std::string(name(each.param)); });

TEST(OrderingNames, ReadBackAndRefuseOthers) {
  for (const char* text : {"metis", "scotch", "amd", "natural"}) {
    EXPECT_EQ(name(parse_ordering(text)), text);
  }
  EXPECT_THROW((void)parse_ordering("Metis"), InvalidInput);
  EXPECT_THROW((void)parse_ordering(""), InvalidInput);
}

TEST(OrderingNames, NameThePackageThatIsMissing) {
  for (auto kind : {OrderingKind::kMetis, OrderingKind::kScotch, OrderingKind::kAmd}) {
    if (available(kind)) continue;
    try {
      (void)compute_ordering(make_grid({2, 2, 1}), kind);
      FAIL() << name(kind);
    } catch (const InvalidInput& error) {
      EXPECT_NE(std::string(error.what()).find("Debian: lib"), std::string::npos);
    }
  }
  EXPECT_TRUE(available(default_ordering()));
}

}  // namespace
}  // namespace espalier::solver
