#include "solver/kernels/compress_tile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace espalier::solver::kernels {
namespace TEST_SOURCE {

constexpr double kCanary = 1e30;

/// A tile in a larger array: rows under it are not its own.
template <class T>
struct Place {
  std::int32_t m, n, leading;
  std::vector<T> entries;

  Place(std::int32_t rows, std::int32_t columns)
      : m(rows), n(columns), leading(rows + 3), entries(std::size_t(leading) * columns) {
    std::fill(entries.begin(), entries.end(), T(kCanary));
    for (std::int32_t j = 0; j < n; ++j)
      for (std::int32_t i = 0; i < m; ++i) (*this)(i, j) = 0;
  }
  T& operator()(std::int32_t i, std::int32_t j) {
    return entries[i + std::size_t(j) * leading];
  }
  std::int32_t compress(double tolerance) {
    std::vector<T> scratch(static_cast<std::size_t>(compress_scratch(m, n)));
    const std::int32_t rank =
        compress_tile<T>(m, n, entries.data(), leading, tolerance, scratch);
    for (std::int32_t j = 0; j < n; ++j)
      for (std::int32_t i = m; i < leading; ++i) EXPECT_EQ((*this)(i, j), T(kCanary));
    return rank;
  }
  // Entry of U V^T.
  double product(std::int32_t rank, std::int32_t i, std::int32_t j) {
    double sum = 0;
    for (std::int32_t k = 0; k < rank; ++k)
      sum += double((*this)(i, k)) * double((*this)(j, rank + k));
    return sum;
  }
  double distance(std::int32_t rank, Place& of) {
    double sum = 0;
    for (std::int32_t j = 0; j < n; ++j)
      for (std::int32_t i = 0; i < m; ++i)
        sum += std::pow(product(rank, i, j) - double(of(i, j)), 2);
    return std::sqrt(sum);
  }
};

std::vector<double> random_direction(std::mt19937& random, std::int32_t n) {
  std::normal_distribution<double> normal;
  std::vector<double> v(static_cast<std::size_t>(n));
  double sum = 0;
  for (double& x : v) {
    x = normal(random);
    sum += x * x;
  }
  for (double& x : v) x /= std::sqrt(sum);
  return v;
}

// Singular values as given, between random orthogonal matrices: products of reflections.
template <class T>
Place<T> with_singular_values(std::mt19937& random, std::int32_t m, std::int32_t n,
                              const std::vector<double>& values) {
  std::vector<std::vector<double>> a(n, std::vector<double>(m, 0));
  for (std::size_t k = 0; k < values.size(); ++k) a[k][k] = values[k];
  for (int turn = 0; turn < 4; ++turn) {
    const auto v = random_direction(random, m), w = random_direction(random, n);
    for (auto& column : a) {
      double dot = 0;
      for (std::int32_t i = 0; i < m; ++i) dot += v[i] * column[i];
      for (std::int32_t i = 0; i < m; ++i) column[i] -= 2 * dot * v[i];
    }
    for (std::int32_t i = 0; i < m; ++i) {
      double dot = 0;
      for (std::int32_t j = 0; j < n; ++j) dot += w[j] * a[j][i];
      for (std::int32_t j = 0; j < n; ++j) a[j][i] -= 2 * dot * w[j];
    }
  }
  Place<T> result(m, n);
  for (std::int32_t j = 0; j < n; ++j)
    for (std::int32_t i = 0; i < m; ++i) result(i, j) = static_cast<T>(a[j][i]);
  return result;
}

// What the first `rank` of decreasing singular values leave.
double rest(const std::vector<double>& values, std::int32_t rank) {
  double sum = 0;
  for (std::size_t k = rank; k < values.size(); ++k) sum += values[k] * values[k];
  return std::sqrt(sum);
}

TEST(CompressTile, OfRankOneByHand) {
  // (1 2 2)^T (3 0 4 0): |u| = 3, |v| = 5.
  Place<double> tile(6, 4);
  for (std::int32_t j : {0, 2})
    for (std::int32_t i = 0; i < 3; ++i)
      tile(i, j) = (i == 0 ? 1.0 : 2.0) * (j == 0 ? 3.0 : 4.0);
  Place<double> given = tile;
  ASSERT_EQ(tile.compress(1e-12), 1);
  EXPECT_NEAR(std::abs(tile(0, 0)), 1.0 / 3, 1e-15);
  EXPECT_NEAR(std::abs(tile(2, 1)), 12, 1e-14);  // 3 x 4
  EXPECT_LE(tile.distance(1, given), 1e-14);
}

TEST(CompressTile, KeepsTheToleranceAtARankNoLessThanTheBestAndNotMuchMore) {
  std::mt19937 random(1);
  for (int instance = 0; instance < 60; ++instance) {
    const std::int32_t n = 8 + static_cast<std::int32_t>(random() % 90);
    const std::int32_t m = n + static_cast<std::int32_t>(random() % 40);
    const double fall = 0.2 + 0.5 * static_cast<double>(random() % 100) / 100;
    std::vector<double> values;
    for (std::int32_t k = 0; k < n; ++k) values.push_back(std::pow(fall, k));
    Place<double> given = with_singular_values<double>(random, m, n, values);
    std::int32_t before = 0;
    for (const double tolerance : {1e-1, 1e-3, 1e-6, 1e-9}) {
      Place<double> tile = given;
      const std::int32_t rank = tile.compress(tolerance);
      if (rank == kFullRank) {
        EXPECT_EQ(tile.entries, given.entries);
        // Nothing of a rank that fits, up to the pivoting's, was overlooked.
        EXPECT_GT(rest(values, n / 4), tolerance) << m << " x " << n << ", " << fall;
        break;
      }
      EXPECT_LE(tile.distance(rank, given), tolerance * (1 + 1e-6) + 1e-14);
      if (rank > 0) {
        EXPECT_GT(rest(values, rank - 1), tolerance / 10);
      }
      EXPECT_LE(rest(values, rank), tolerance * (1 + 1e-6) + 1e-14);
      EXPECT_GE(rank, before) << "of a smaller tolerance";
      before = rank;
    }
  }
}

TEST(CompressTile, InSinglePrecision) {
  std::mt19937 random(2);
  Place<float> given = with_singular_values<float>(random, 50, 40, {3, 2, 1, 1e-5});
  Place<float> tile = given;
  ASSERT_EQ(tile.compress(1e-3), 3);
  EXPECT_LE(tile.distance(3, given), 1e-3);
}

// A tile may be rounded if that loses as much again at most; small ones are compressed in
// single precision at once.
TEST(CompressTile, RoundsWhereThatLosesNoMoreThanTheTolerance) {
  std::mt19937 random(4);
  const double tolerance = 1e-7;
  std::array<int, 2> seen{};
  for (int instance = 0; instance < 200; ++instance) {
    const std::int32_t n = 8 + static_cast<std::int32_t>(random() % 40);
    const std::int32_t m = n + static_cast<std::int32_t>(random() % 9);
    const double largest = std::pow(10, -3.0 + instance % 8), fall = 0.3 + instance % 3;
    std::vector<double> values;
    for (std::int32_t k = 0; k < n; ++k) values.push_back(largest * std::exp(-fall * k));
    Place<double> tile = with_singular_values<double>(random, m, n, values);
    Place<double> given = tile;
    std::vector<double> scratch(static_cast<std::size_t>(compress_scratch(m, n)));
    const auto [rank, single, found] = compress_and_round_tile(
        m, n, tile.entries.data(), tile.leading, tolerance, scratch);
    const double norm = rest(values, 0);
    EXPECT_NEAR(found, norm, 1e-12 * norm);
    ++seen[single ? 1 : 0];
    const double most = tolerance * 0x1p24;
    EXPECT_TRUE(single || norm > 0.1 * most / (1 + std::sqrt(n)));
    EXPECT_TRUE(!single || norm <= most);
    if (rank == kFullRank) {
      EXPECT_EQ(tile.entries, given.entries);
      continue;
    }
    if (single)
      for (double& x : tile.entries) x = static_cast<float>(x);
    EXPECT_LE(tile.distance(rank, given), (single ? 3 : 1 + 1e-6) * tolerance);
    EXPECT_GT(rest(values, rank > 6 ? rank - 6 : 0), rank > 6 ? 0.1 * tolerance : 0);
  }
  EXPECT_GT(seen[0], 20);
  EXPECT_GT(seen[1], 20);
}

TEST(CompressTile, OfZerosHasRankZero) {
  for (const double tolerance : {0.0, 1e-300, 1e-8}) {
    Place<double> tile(20, 16);
    EXPECT_EQ(tile.compress(tolerance), 0);
  }
  Place<double> small(20, 16);
  small(3, 4) = 1e-9;
  EXPECT_EQ(small.compress(1e-8), 0);
}

// In any column: of 50 rows, which are no whole vectors.
TEST(CompressTile, LeavesEntriesWhoseSquaresVanish) {
  for (const std::int32_t column : {0, 17, 39}) {
    Place<double> tile(50, 40);
    tile(49, column) = 1e-200;
    const Place<double> given = tile;
    EXPECT_EQ(tile.compress(0), kFullRank) << column;
    EXPECT_EQ(tile.entries, given.entries);
  }
}

TEST(CompressTile, LeavesWhatDoesNotPayAsItIs) {
  std::mt19937 random(3);
  const auto stays = [](Place<double> tile, double tolerance) {
    const std::vector<double> before = tile.entries;
    EXPECT_EQ(tile.compress(tolerance), kFullRank);
    EXPECT_TRUE(std::equal(
        before.begin(), before.end(), tile.entries.begin(),
        [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); }));
  };
  stays(with_singular_values<double>(random, 30, 30, std::vector<double>(30, 1)), 1e-3);
  stays(Place<double>(8, 16), 1e-3);  // fewer rows than columns
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity(), 1e300}) {
    Place<double> tile(20, 16);
    tile(7, 5) = bad;
    stays(tile, 1e-3);
  }
  Place<double> tiny(20, 16);  // its square vanishes
  tiny(7, 5) = 1e-200;
  stays(tiny, 0);
  stays(tiny, 1e-250);
}

TEST(CompressTile, OfOneColumnIsKept) {
  Place<double> tile(5, 1);
  tile(0, 0) = 1;
  EXPECT_EQ(tile.compress(1e-8), kFullRank);  // U and V do not fit
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver::kernels
