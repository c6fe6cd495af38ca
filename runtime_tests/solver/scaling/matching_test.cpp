// The cases of one subject, which share their instances: over 300 lines.

#include "solver/scaling/matching.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <vector>

#include "espalier/model/error.h"
#include "solver/matrix/grid.h"
#include "solver/scaling/product_assignment.h"
#include "solver/scaling/symmetric_matching.h"

namespace espalier::solver {
namespace TEST_SOURCE {

using Ints = std::vector<std::int32_t>;

GeneralMatrix from_dense(std::int32_t size, const std::vector<double>& dense) {
  GeneralMatrix matrix;
  matrix.size = size;
  matrix.column_start.assign(1, 0);
  for (std::int32_t column = 0; column < size; ++column) {
    for (std::int32_t row = 0; row < size; ++row) {
      if (dense[row * size + column] == 0) continue;
      matrix.row.push_back(row);
      matrix.value.push_back(dense[row * size + column]);
    }
    matrix.column_start.push_back(static_cast<std::int64_t>(matrix.row.size()));
  }
  return matrix;
}

std::string describe(std::int32_t size, const std::vector<double>& dense) {
  std::ostringstream text;
  for (std::int32_t row = 0; row < size; ++row) {
    for (std::int32_t column = 0; column < size; ++column) {
      text << dense[row * size + column] << ' ';
    }
    text << '\n';
  }
  return text.str();
}

std::vector<double> random_dense(std::mt19937& random, std::int32_t size) {
  std::vector<double> dense(size * size, 0.0);
  const unsigned sparsity = 1 + random() % 4;
  for (double& value : dense) {
    if (random() % (sparsity + 1) > 1) continue;
    value = std::exp2(std::uniform_real_distribution<>(-20, 20)(random));
    if (random() % 2) value = static_cast<double>(random() % 3);  // ties and zeros
    if (random() % 2) value = -value;
  }
  return dense;
}

// Most nonzeros on a permuted diagonal, and the greatest sum of their logarithms if each
// row of `rows` is to be paired with a column of `columns`.
std::int32_t brute_rank(std::int32_t size, const std::vector<double>& dense) {
  Ints order(size);
  std::iota(order.begin(), order.end(), 0);
  std::int32_t most = 0;
  do {
    std::int32_t count = 0;
    for (std::int32_t k = 0; k < size; ++k) count += dense[order[k] * size + k] != 0;
    most = std::max(most, count);
  } while (std::next_permutation(order.begin(), order.end()));
  return most;
}

double brute_product(std::int32_t size, const std::vector<double>& dense, Ints rows,
                     const Ints& columns) {
  std::sort(rows.begin(), rows.end());
  double best = -std::numeric_limits<double>::infinity();
  do {
    double sum = 0;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      sum += std::log2(std::abs(dense[rows[k] * size + columns[k]]));
    }
    best = std::max(best, sum);
  } while (std::next_permutation(rows.begin(), rows.end()));
  return best;
}

// Largest of log2 |r_i a_ij c_j|.
double largest_scaled(const GeneralMatrix& a, const std::vector<double>& row_log,
                      const std::vector<double>& column_log) {
  double most = -std::numeric_limits<double>::infinity();
  for (std::int32_t column = 0; column < a.size; ++column) {
    for (auto at = a.column_start[column]; at < a.column_start[column + 1]; ++at) {
      most = std::max(most, std::log2(std::abs(a.value[at])) + row_log[a.row[at]] +
                                column_log[column]);
    }
  }
  return most;
}

//  1  9  .      9 * 5 * 1 beats 1 * 5 * 2
//  5  8  .
//  .  1  2   ->  rows 1, 0, 2
TEST(MaximumProductMatching, TakesTheLargerProductByHand) {
  const Matching matching =
      maximum_product_matching(from_dense(3, {1, 9, 0, 5, 8, 0, 0, 1, 2}));
  EXPECT_EQ(matching.row_of_column, (Ints{1, 0, 2}));
  EXPECT_EQ(matching.rank, 3);
}

// The largest entries of the columns stand in rows of their own: nothing to search.
TEST(MaximumProductMatching, TakesLargestEntriesOfColumnsByHand) {
  const Matching matching =
      maximum_product_matching(from_dense(3, {1, -8, 0, 4, 2, 0.25, -2, 0, 0.5}));
  EXPECT_EQ(matching.row_of_column, (Ints{1, 0, 2}));
  EXPECT_EQ(matching.rank, 3);
  EXPECT_EQ(matching.row_log, (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(matching.column_log, (std::vector<double>{-2, -3, 1}));
  // Where the diagonal is as large it stays; where two share a row one has to move.
  EXPECT_EQ(maximum_product_matching(from_dense(2, {3, 3, 3, 3})).row_of_column,
            (Ints{0, 1}));
  EXPECT_EQ(maximum_product_matching(from_dense(2, {4, 8, 1, 1})).row_of_column,
            (Ints{1, 0}));
}

// That no other matching has more entries, and none of these rows and columns a larger
// product, and that the scales say so.
void expect_greatest(std::int32_t size, const std::vector<double>& dense,
                     const Matching& matching) {
  Ints sorted = matching.row_of_column;
  std::sort(sorted.begin(), sorted.end());
  for (std::int32_t k = 0; k < size; ++k) ASSERT_EQ(sorted[k], k);
  Ints rows, columns;
  double sum = 0;
  for (std::int32_t column = 0; column < size; ++column) {
    const std::int32_t row = matching.row_of_column[column];
    const double value = dense[row * size + column];
    ASSERT_TRUE(std::isfinite(matching.row_log[column]));
    ASSERT_TRUE(std::isfinite(matching.column_log[column]));
    if (!matching.matched[column]) continue;
    ASSERT_NE(value, 0);
    rows.push_back(row);
    columns.push_back(column);
    sum += std::log2(std::abs(value));
    ASSERT_NEAR(
        matching.row_log[row] + matching.column_log[column] + std::log2(std::abs(value)),
        0, 1e-12);
  }
  ASSERT_EQ(matching.rank, static_cast<std::int32_t>(rows.size()));
  ASSERT_EQ(matching.rank, brute_rank(size, dense));
  ASSERT_NEAR(sum, brute_product(size, dense, rows, columns), 1e-10);
  ASSERT_LE(
      largest_scaled(from_dense(size, dense), matching.row_log, matching.column_log),
      1e-10);
}

// As it is used; and with a search back from the free rows after each search.
std::vector<Matching> both_ways(const GeneralMatrix& a) {
  return {maximum_product_matching(a), ProductAssignment(a, {}, 0).result()};
}

TEST(MaximumProductMatching, EqualsBruteForceOnSmallMatrices) {
  std::mt19937 random(77);
  int singular = 0;
  for (int instance = 0; instance < 3000; ++instance) {
    const std::int32_t size = 1 + instance % 6 + (instance % 50 == 0 ? 1 : 0);
    const std::vector<double> dense = random_dense(random, size);
    SCOPED_TRACE(describe(size, dense));
    const GeneralMatrix a = from_dense(size, dense);
    for (const Matching& matching : both_ways(a)) {
      ASSERT_NO_FATAL_FAILURE(expect_greatest(size, dense, matching));
      ASSERT_EQ(structural_rank(a), matching.rank);
    }
    singular += maximum_product_matching(a).rank < size;
  }
  EXPECT_GT(singular, 500);  // both kinds were tried
  EXPECT_LT(singular, 2500);
}

//  8 . 8     twice: two columns want row 0, and the way from there to row 2, which is
//  4 8 .     free, goes by a smaller entry. The first column that waits finds
//  . 2 .     it by a search, the other one from the free row.
TEST(ProductAssignment, LooksBackByHand) {
  const GeneralMatrix a = from_dense(6, {8, 0, 8, 0, 0, 0,  //
                                         4, 8, 0, 0, 0, 0,  //
                                         0, 2, 0, 0, 0, 0,  //
                                         0, 0, 0, 8, 0, 8,  //
                                         0, 0, 0, 4, 8, 0,  //
                                         0, 0, 0, 0, 2, 0});
  const Matching matching = ProductAssignment(a, {}, 0).result();
  EXPECT_EQ(matching.row_of_column, (Ints{1, 2, 0, 4, 5, 3}));
  EXPECT_EQ(matching.rank, 6);
  EXPECT_EQ(largest_scaled(a, matching.row_log, matching.column_log), 0);
}

// Few rows a column, with ties for odd seeds: searches go far. Singular when the seed is
// a multiple of 3.
GeneralMatrix few_rows_a_column(unsigned seed) {
  constexpr std::int32_t kSize = 1000;
  std::mt19937 random(seed);
  GeneralMatrix a{kSize, {0}, {}, {}};
  for (std::int32_t column = 0; column < kSize; ++column) {
    std::set<std::int32_t> rows;
    if (seed % 3 > 0) rows.insert(kSize - 1 - column);
    for (int k = 0; k < 4; ++k) rows.insert(static_cast<std::int32_t>(random() % kSize));
    for (const std::int32_t row : rows) {
      a.row.push_back(row);
      const auto value = static_cast<double>(1 + random() % 99999);
      a.value.push_back(seed % 2 ? std::exp2(std::floor(value / 33333)) : value);
    }
    a.column_start.push_back(std::ssize(a.row));
  }
  return a;
}

constexpr std::int32_t kNeverBack = 1'000'000;

TEST(ProductAssignment, LooksBackToTheSameProduct) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    const GeneralMatrix a = few_rows_a_column(seed);
    const auto log_product = [&](const Matching& matching) {
      double sum = 0;
      for (std::int32_t k = 0; k < a.size; ++k)
        sum -= matching.row_log[k] + matching.column_log[k];
      return sum;
    };
    const Matching plain = ProductAssignment(a, {}, kNeverBack).result();
    EXPECT_EQ(plain.rank == a.size, seed % 3 > 0) << plain.rank;
    for (const Matching& matching : both_ways(a)) {
      EXPECT_EQ(matching.rank, plain.rank) << seed;
      EXPECT_LE(largest_scaled(a, matching.row_log, matching.column_log), 1e-10);
      if (plain.rank < a.size) continue;
      EXPECT_NEAR(log_product(matching), log_product(plain), 1e-8) << seed;
    }
  }
}

// The searches from columns are few and short then: most questions are of those back.
TEST(ProductAssignment, AsksWhileItLooksBack) {
  int asked = 0;
  const std::function<void()> ask = [&] { ++asked; };
  static_cast<void>(ProductAssignment(few_rows_a_column(2), ask, 0));
  EXPECT_GT(asked, 20);
  const std::function<void()> stop = [&] {
    if (--asked == 0) throw Error("stopped");
  };
  EXPECT_THROW(static_cast<void>(ProductAssignment(few_rows_a_column(2), stop, 0)),
               Error);
}

// Without a perfect matching searches fail one after the other; entries of 2^-100 to
// 2^100.
TEST(MaximumProductMatching, ScalesEveryRowAndColumnToOneWhateverIsLeftUnmatched) {
  std::mt19937 random(79);
  std::uniform_real_distribution<double> exponent(-100, 100);
  int deficient = 0;
  for (int instance = 0; instance < 300; ++instance) {
    const std::int32_t size = 20 + static_cast<std::int32_t>(random() % 40);
    std::vector<double> dense(size * size, 0.0);
    for (double& entry : dense)
      if (random() % size < 3) entry = std::exp2(exponent(random));
    for (const Matching& matching : both_ways(from_dense(size, dense))) {
      deficient += matching.rank < size;
      std::vector<double> of_row(size, -std::numeric_limits<double>::infinity());
      std::vector<double> of_column = of_row;
      for (std::int32_t i = 0; i < size; ++i)
        for (std::int32_t j = 0; j < size; ++j) {
          const double scaled = std::log2(dense[i * size + j]) + matching.row_log[i] +
                                matching.column_log[j];
          of_row[i] = std::max(of_row[i], scaled);
          of_column[j] = std::max(of_column[j], scaled);
        }
      for (const auto& largest : {of_row, of_column})
        for (const double each : largest)
          if (std::isfinite(each)) {
            ASSERT_NEAR(each, 0, 1e-9) << instance;
          }
    }
  }
  EXPECT_GT(deficient, 500);
}

TEST(MaximumProductMatching, LeavesALargeDiagonalWhereItIs) {
  const Matching matching = maximum_product_matching(expanded(make_grid({30, 30, 3})));
  for (std::int32_t k = 0; k < 2700; ++k) ASSERT_EQ(matching.row_of_column[k], k);
}

TEST(MaximumProductMatching, AcceptsExtremes) {
  EXPECT_EQ(maximum_product_matching({0, {0}, {}, {}}).rank, 0);
  const Matching empty = maximum_product_matching({3, {0, 0, 0, 0}, {}, {}});
  EXPECT_EQ(empty.rank, 0);
  EXPECT_EQ(empty.row_of_column, (Ints{0, 1, 2}));
  EXPECT_EQ(maximum_product_matching({1, {0, 1}, {0}, {5e-324}}).rank, 1);
  EXPECT_THROW(
      static_cast<void>(maximum_product_matching({1, {0, 1}, {0}, {std::nan("")}})),
      InvalidInput);
}

// Every column has one place, all in the first row: one search must do for all of them.
TEST(MaximumProductMatching, IsNotQuadraticOnAMatrixOfRankTwo) {
  constexpr std::int32_t kSize = 200'000;
  GeneralMatrix a;
  a.size = kSize;
  for (std::int32_t column = 0; column <= kSize; ++column) {
    a.column_start.push_back(column < kSize ? column : 2LL * kSize - 1);
  }
  a.row.assign(kSize - 1, 0);  // and a full last column
  for (std::int32_t row = 0; row < kSize; ++row) a.row.push_back(row);
  a.value.assign(a.row.size(), 3.0);
  EXPECT_EQ(maximum_product_matching(a).rank, 2);
}

// A chain of 10^5 columns that all have to move by one.
TEST(MaximumProductMatching, FollowsALongPath) {
  constexpr std::int32_t kSize = 100'000;
  GeneralMatrix a;
  a.size = kSize;
  a.column_start.assign(1, 0);
  for (std::int32_t column = 0; column < kSize; ++column) {
    a.row.push_back(column);
    a.value.push_back(4);
    if (column + 1 < kSize) {
      a.row.push_back(column + 1);
      a.value.push_back(1);
    } else {
      a.row.back() = 0;  // the last row is left to the last but one column
    }
    a.column_start.push_back(static_cast<std::int64_t>(a.row.size()));
  }
  const Matching matching = maximum_product_matching(a);
  EXPECT_EQ(matching.rank, kSize);
  EXPECT_EQ(matching.row_of_column.front(), 1);
  EXPECT_EQ(matching.row_of_column.back(), 0);
  EXPECT_LE(largest_scaled(a, matching.row_log, matching.column_log), 1e-6);
}

constexpr double kAll = std::numeric_limits<double>::infinity();

SymmetricMatrix lower_of(const GeneralMatrix& a) { return symmetrised(a).lower; }

TEST(SymmetricMatching, PairsByHand) {
  // 0 2 .
  // 2 0 .
  // . . 5
  const SymmetricMatching matching =
      symmetric_matching({3, {0, 1, 1, 2}, {1, 2}, {2, 5}}, kAll);
  EXPECT_EQ(matching.partner, (Ints{1, 0, 2}));
  EXPECT_DOUBLE_EQ(matching.log[0] + matching.log[1], -1);
  EXPECT_DOUBLE_EQ(matching.log[2], -std::log2(5) / 2);
}

// c 1    matched off the diagonal; alone as soon as neither c nor d is weak
// 1 d
TEST(SymmetricMatching, LeavesColumnsAloneThatMayBothBePivots) {
  const auto partner = [](double c, double d, double weak) {
    return symmetric_matching({2, {0, 2, 3}, {0, 1, 1}, {c, 1, d}}, weak).partner;
  };
  const Ints pair{1, 0}, alone{0, 1};
  EXPECT_EQ(partner(0.5, 0.5, kAll), pair);
  EXPECT_EQ(partner(0.5, 0.5, 0.1), alone);
  EXPECT_EQ(partner(0.5, 0.05, 0.1), pair);
  EXPECT_EQ(partner(0.05, 0.5, 0.1), pair);
  EXPECT_EQ(partner(0, 0, 0.1), pair);
  EXPECT_EQ(partner(0, 0, 0), alone);
}

TEST(SymmetricMatching, PairsAreEntriesAndNoScaledEntryIsAboveOne) {
  std::mt19937 random(3);
  for (int instance = 0; instance < 2000; ++instance) {
    const std::int32_t size = 1 + instance % 9;
    std::vector<double> dense = random_dense(random, size);
    for (std::int32_t i = 0; i < size; ++i) {
      for (std::int32_t j = 0; j < i; ++j) dense[i * size + j] = dense[j * size + i];
    }
    SCOPED_TRACE(describe(size, dense));
    const GeneralMatrix a = from_dense(size, dense);
    const SymmetricMatching matching = symmetric_matching(lower_of(a), kAll);
    ASSERT_EQ(matching.rank, maximum_product_matching(a).rank);
    ASSERT_LE(largest_scaled(a, matching.log, matching.log), 1e-10);
    for (std::int32_t k = 0; k < size; ++k) {
      const std::int32_t other = matching.partner[k];
      ASSERT_EQ(matching.partner[other], k);
      if (other == k) continue;
      ASSERT_NEAR(std::log2(std::abs(dense[k * size + other])) + matching.log[k] +
                      matching.log[other],
                  0, 1e-10);
    }
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
