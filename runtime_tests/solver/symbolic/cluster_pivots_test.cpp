#include "solver/symbolic/cluster_pivots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "solver/matrix/grid.h"
#include "solver/matrix/permute.h"
#include "solver/symbolic/analyse.h"
#include "solver/symbolic/check_symbolic.h"

namespace espalier::solver {
namespace TEST_SOURCE {

// One front of all columns.
Symbolic one_front(std::int32_t size) {
  Symbolic symbolic;
  symbolic.size = size;
  symbolic.first_column = {0, size};
  symbolic.row_start = {0, 0};
  symbolic.parent = {-1};
  for (std::int32_t i = 0; i < size; ++i) symbolic.permutation.push_back(i * 7 % size);
  return symbolic;
}

TEST(ClusterPivots, OfAPathAreItsPieces) {
  Symbolic symbolic = one_front(16);
  cluster_pivots(make_grid({16, 1, 1}), {.least_pivots = 1, .size = 4}, symbolic);
  // Steps of two are one: neighbours may change places over a border.
  for (int cluster = 0; cluster < 4; ++cluster) {
    const auto begin = symbolic.permutation.begin() + 4 * cluster;
    const auto [low, high] = std::minmax_element(begin, begin + 4);
    EXPECT_LE(*high - *low, 5) << "cluster " << cluster;
  }
}

TEST(ClusterPivots, OfASquareAreNotLong) {
  constexpr std::int32_t kSide = 32;
  Symbolic symbolic = one_front(kSide * kSide);
  cluster_pivots(make_grid({kSide, kSide, 1}), {.least_pivots = 1, .size = 64}, symbolic);
  for (std::int32_t cluster = 0; cluster < kSide * kSide / 64; ++cluster) {
    std::set<std::int32_t> x, y;
    for (std::int32_t k = 64 * cluster; k < 64 * cluster + 64; ++k) {
      x.insert(symbolic.permutation[k] % kSide);
      y.insert(symbolic.permutation[k] / kSide);
    }
    EXPECT_LE(*x.rbegin() - *x.begin() + *y.rbegin() - *y.begin(), 32);  // of 14 at best
  }
}

TEST(ClusterPivots, ChangeNothingButTheOrderInsideFronts) {
  const SymmetricMatrix matrix = make_grid({9, 8, 7});
  const Symbolic before = analyse_pattern(matrix);
  Symbolic after = before;
  cluster_pivots(matrix, {.least_pivots = 8, .size = 4}, after);
  EXPECT_NE(after.permutation, before.permutation);
  EXPECT_NO_THROW(check_symbolic(after, permuted(matrix, after.permutation)));
  EXPECT_EQ(after.first_column, before.first_column);
  EXPECT_EQ(after.parent, before.parent);
  const auto old_number = inverse_permutation(before.permutation);
  for (std::int32_t s = 0; s < after.fronts(); ++s) {
    const auto own = [&](const Symbolic& of) {
      return std::set<std::int32_t>(of.permutation.begin() + of.first_column[s],
                                    of.permutation.begin() + of.first_column[s + 1]);
    };
    EXPECT_EQ(own(after), own(before));
    std::set<std::int32_t> rows;
    for (const std::int32_t row : after.rows_of(s))
      rows.insert(old_number[after.permutation[row]]);
    const auto expected = before.rows_of(s);
    EXPECT_EQ(rows, std::set<std::int32_t>(expected.begin(), expected.end()));
  }
}

TEST(ClusterPivots, LeaveSmallFrontsAndUnconnectedOnesWhole) {
  Symbolic symbolic = one_front(12);
  const std::vector<std::int32_t> given = symbolic.permutation;
  cluster_pivots(make_grid({12, 1, 1}), {.least_pivots = 13, .size = 4}, symbolic);
  EXPECT_EQ(symbolic.permutation, given);
  SymmetricMatrix diagonal;
  diagonal.size = 12;
  for (std::int32_t i = 0; i <= 12; ++i) diagonal.column_start.push_back(i);
  for (std::int32_t i = 0; i < 12; ++i) {
    diagonal.row.push_back(i);
    diagonal.value.push_back(1);
  }
  cluster_pivots(diagonal, {.least_pivots = 1, .size = 4}, symbolic);
  EXPECT_TRUE(
      std::is_permutation(given.begin(), given.end(), symbolic.permutation.begin()));
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
