#include "solver/kernels/tile_product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <random>
#include <vector>

#include "random_entries.h"

namespace espalier::solver::kernels {
namespace TEST_SOURCE {

template <class T>
struct Made {
  std::int32_t rows, columns;
  std::vector<T> u, v;
  std::vector<float> single;
  Tile<T> tile;

  // A random tile of a rank, or in full; of doubles now and then in single precision.
  Made(std::mt19937& random, std::int32_t m, std::int32_t k, std::int32_t rank)
      : rows(m), columns(k) {
    std::uniform_real_distribution<T> value(-1, 1);
    u.resize(std::size_t(m + 2) * (rank == kFullRank ? k : rank) + 1);
    v.resize(std::size_t(k + 1) * std::max(rank, 0) + 1);
    for (T& x : u) x = value(random);
    for (T& x : v) x = value(random);
    tile = {u.data(), m + 2, v.data(), k + 1, rank};
    if (sizeof(T) == 4 || random() % 2 == 0) return;
    single.assign(u.begin(), u.end() - 1);
    single.insert(single.end(), v.begin(), v.end());
    std::ranges::copy(single.begin(), single.begin() + std::ssize(u) - 1, u.begin());
    std::ranges::copy(single.begin() + std::ssize(u) - 1, single.end(), v.begin());
    tile = {nullptr, m + 2, nullptr, k + 1, rank, single.data()};
  }
  double operator()(std::int32_t i, std::int32_t j) const {
    if (tile.rank == kFullRank) return u[i + std::size_t(j) * tile.ldu];
    double sum = 0;
    for (std::int32_t r = 0; r < tile.rank; ++r)
      sum += double(u[i + std::size_t(r) * tile.ldu]) *
             double(v[j + std::size_t(r) * tile.ldv]);
    return sum;
  }
};

template <class T>
class TileProduct : public RandomEntries<T> {
 protected:
  TileProduct() : RandomEntries<T>(7) {}
  using RandomEntries<T>::draw;

  // Of a tile that compression has made smaller, or not.
  std::int32_t rank(std::int32_t m, std::int32_t k) {
    return draw(0, 2) == 0 ? kFullRank : draw(0, m * k / (m + k));
  }
};
using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(TileProduct, Precisions);

// c := c - A B^T, entry by entry.
template <class T>
void subtract_product(const Made<T>& a, const Made<T>& b, std::vector<double>& c) {
  for (std::int32_t j = 0; j < b.rows; ++j)
    for (std::int32_t i = 0; i < a.rows; ++i)
      for (std::int32_t q = 0; q < a.columns; ++q)
        c[i + std::size_t(j) * a.rows] -= a(i, q) * b(j, q);
}

TYPED_TEST(TileProduct, UpdatesAsTheDenseTilesDo) {
  using T = TypeParam;
  constexpr std::int32_t kWidth = 24;
  std::vector<T> scratch(static_cast<std::size_t>(update_scratch(kWidth)));
  int rounded = 0, exact = 0;
  for (int instance = 0; instance < 200; ++instance) {
    const bool diagonal = instance % 3 == 0;
    const std::int32_t n = this->draw(1, kWidth);
    const std::int32_t m = diagonal ? n : this->draw(1, kWidth);
    std::deque<Made<T>> tiles;
    std::vector<TileTerm<T>> terms;
    std::vector<double> expected(std::size_t(m) * n, 5);
    bool updates = false, rounds = sizeof(T) == 4;
    for (std::int32_t left = this->draw(0, 12); left > 0; --left) {
      const std::int32_t k = this->draw(1, kWidth);
      const Made<T>& a = tiles.emplace_back(this->random, m, k, this->rank(m, k));
      const Made<T>& b =
          diagonal ? a : tiles.emplace_back(this->random, n, k, this->rank(n, k));
      const bool single = instance % 2 == 0 && this->draw(0, 1) == 0;
      terms.push_back({a.tile, b.tile, k, single});
      rounds = rounds || single || (!a.single.empty() && !b.single.empty());
      updates = updates || (a.tile.rank != 0 && b.tile.rank != 0);
      subtract_product(a, b, expected);
    }
    std::vector<T> c(std::size_t(m + 1) * n, T(5));
    const double flops =
        update_by_tiles<T>(m, n, terms, diagonal, c.data(), m + 1, scratch);
    EXPECT_EQ(flops > 0, updates) << "nothing is done for products that are zero";
    double worst = 0;
    for (std::int32_t j = 0; j < n; ++j) {
      for (std::int32_t i = 0; i < m; ++i) {
        const double found = c[i + std::size_t(j) * (m + 1)];
        const double error = std::abs(found - expected[i + std::size_t(j) * m]);
        // Above the diagonal nothing is touched.
        worst = std::max(worst, diagonal && i < j ? double(found != 5) : error);
      }
      ASSERT_EQ(c[m + std::size_t(j) * (m + 1)], T(5)) << "below the tile";
    }
    ASSERT_LE(worst, rounds ? 2e-2 : 1e-11);
    ++(worst > 1e-9 ? rounded : exact);
  }
  EXPECT_GT(rounded, 20);
  EXPECT_GT(exact, sizeof(T) == 4 ? 0 : 20);
}

TYPED_TEST(TileProduct, ExpandsSomeColumns) {
  using T = TypeParam;
  for (int instance = 0; instance < 100; ++instance) {
    const std::int32_t m = this->draw(1, 30), k = this->draw(1, 30);
    const Made<T> a(this->random, m, k, this->rank(m, k));
    const double tolerance = sizeof(T) == 4 || a.tile.single != nullptr ? 1e-4 : 1e-12;
    const std::int32_t first = this->draw(0, k - 1), n = this->draw(1, k - first);
    std::vector<T> c(std::size_t(m) * n, T(7));
    expand_tile(m, n, a.tile, first, c.data());
    for (std::int32_t j = 0; j < n; ++j)
      for (std::int32_t i = 0; i < m; ++i)
        ASSERT_NEAR(c[i + std::size_t(j) * m], a(i, first + j), tolerance);
  }
}

TYPED_TEST(TileProduct, AppliesATileAndItsTranspose) {
  using T = TypeParam;
  const double tolerance = sizeof(T) == 4 ? 1e-3 : 1e-12;
  for (int instance = 0; instance < 100; ++instance) {
    const std::int32_t m = this->draw(1, 30), k = this->draw(1, 30);
    const std::int32_t nrhs = this->draw(1, 4);
    const Made<T> a(this->random, m, k, this->rank(m, k));
    std::vector<T> x(std::size_t(k) * nrhs, T(0.5)), y(std::size_t(m) * nrhs, T(2));
    apply_tile(m, k, a.tile, nrhs, x.data(), k, y.data(), m);
    for (std::int32_t i = 0; i < m; ++i) {
      double sum = 2;
      for (std::int32_t j = 0; j < k; ++j) sum -= 0.5 * a(i, j);
      for (std::int32_t v = 0; v < nrhs; ++v)
        ASSERT_NEAR(y[i + std::size_t(v) * m], sum, tolerance * 10);
    }
    std::fill(y.begin(), y.end(), T(-1));
    apply_tile_transposed(m, k, a.tile, nrhs, y.data(), m, x.data(), k);
    for (std::int32_t j = 0; j < k; ++j) {
      double sum = 0.5;
      for (std::int32_t i = 0; i < m; ++i) sum += a(i, j);
      for (std::int32_t v = 0; v < nrhs; ++v)
        ASSERT_NEAR(x[j + std::size_t(v) * k], sum, tolerance * 10);
    }
  }
}

// Tiles that are not in single precision are rounded where that is the faster: a product
// of tiles in full is, one of a column is not.
TEST(TileProductCost, RoundsTilesForProductsOfMuchWork) {
  std::mt19937 random(11);
  const auto loses = [&](std::int32_t rank) {
    const std::int32_t n = 96;
    std::vector<std::vector<double>> c(2, std::vector<double>(n * n));
    std::vector<double> scratch(static_cast<std::size_t>(update_scratch(n)));
    std::vector<double> a(n * n), b(n * n);
    std::uniform_real_distribution<double> value(-1, 1);
    for (double& x : a) x = value(random);
    for (double& x : b) x = value(random);
    const Tile<double> full = {a.data(), n, nullptr, 0, kFullRank};
    const Tile<double> other = {b.data(), n, b.data() + n * std::max(rank, 0), n, rank};
    for (const bool single : {false, true}) {
      const std::vector<TileTerm<double>> terms = {{full, other, n, single}};
      update_by_tiles<double>(n, n, terms, false, c[single].data(), n, scratch);
    }
    return c[0] != c[1];
  };
  EXPECT_TRUE(loses(kFullRank));
  EXPECT_TRUE(loses(40));
  EXPECT_FALSE(loses(1));
}

// Of two ranks the smaller one is what the target is updated by.
TEST(TileProductCost, FollowsTheRanks) {
  std::mt19937 random(9);
  const Made<double> a(random, 20, 16, 2), b(random, 10, 16, 3);
  const std::vector<TileTerm<double>> terms = {{a.tile, b.tile, 16}};
  std::vector<double> c(200), scratch(static_cast<std::size_t>(update_scratch(20)));
  EXPECT_EQ(update_by_tiles<double>(20, 10, terms, false, c.data(), 20, scratch),
            2 * 16 * 2 * 3 + 2 * 10 * 2 * 3 + 2 * 20 * 10 * 2);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver::kernels
