#include "solver/front/low_rank_panel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace espalier::solver {
namespace TEST_SOURCE {

using kernels::kFullRank;

// Entry (i, j) of a tile, counted within it.
double entry(const kernels::Tile<double>& tile, std::int32_t i, std::int32_t j) {
  const auto u = [&](std::int32_t column) -> double {
    const std::int64_t at = i + std::int64_t{column} * tile.ldu;
    return tile.single != nullptr ? tile.single[at] : tile.u[at];
  };
  const auto v = [&](std::int32_t column) -> double {
    const std::int64_t at = j + std::int64_t{column} * tile.ldv;
    return tile.single != nullptr ? tile.single[std::int64_t{tile.rank} * tile.ldu + at]
                                  : tile.v[at];
  };
  if (tile.rank == kFullRank) return u(j);
  double sum = 0;
  for (std::int32_t r = 0; r < tile.rank; ++r) sum += u(r) * v(r);
  return sum;
}

/// A panel of random entries whose tiles have random ranks, as compress_tile() leaves
/// them.
struct RandomPanel {
  std::vector<double> data;
  LowRankPanel panel;

  RandomPanel(std::mt19937& random, const Trapezoid& layout) : panel(layout) {
    data.resize(static_cast<std::size_t>(layout.entries()));
    // Single precision has all of them.
    for (double& x : data)
      x = std::uniform_int_distribution<>(-999, 999)(random) / 1024.0;
    for (std::int32_t k = 0; k < layout.blocks(); ++k)
      for (std::int32_t i = k + 1; i < panel.blocks; ++i) {
        panel.single[panel.number(i, k)] = random() % 2 == 0;
        if (random() % 3 != 0 && panel.rows(i) >= layout.width(k))
          panel.rank[panel.number(i, k)] =
              static_cast<std::int32_t>(random() % (layout.width(k) / 2 + 1));
      }
  }
};

Trapezoid random_layout(std::mt19937& random) {
  const auto draw = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  const int width = draw(2, 20), columns = draw(width, 70);
  return {columns + draw(0, 60), columns, width};
}

// The example of a panel of 4 x 3 in blocks of two columns: the first block column has
// its diagonal block, a tile of one row and one of rank 1 of the row below the panel.
TEST(LowRankPanel, CountsTheEntriesThatAreLeft) {
  LowRankPanel panel({4, 3, 2});
  ASSERT_EQ(panel.blocks, 3);
  EXPECT_EQ(panel.column_entries(0), 4 + 2 + 2);
  panel.rank[panel.number(2, 0)] = 0;
  EXPECT_EQ(panel.column_entries(0), 4 + 2);
  EXPECT_EQ(panel.column_entries(1), 1 + 1);
  // Two numbers of single precision are one; a third has another one.
  panel.single[panel.number(1, 0)] = panel.single[panel.number(2, 1)] = 1;
  EXPECT_EQ(panel.column_entries(0), 4 + 1);
  EXPECT_EQ(panel.column_entries(1), 1 + 1);
  // Of a diagonal block of 20 steps of eight columns, less what is above them.
  EXPECT_EQ(LowRankPanel({20, 20, 20}).column_entries(0), 20 * 8 + 12 * 8 + 4 * 4);
}

TEST(LowRankPanel, PutTogetherHasTheSameTiles) {
  std::mt19937 random(8);
  for (int instance = 0; instance < 300; ++instance) {
    const Trapezoid layout = random_layout(random);
    RandomPanel moved(random, layout);
    const std::vector<double> before = moved.data;
    const LowRankPanel& panel = moved.panel;
    LowRankPanel as_it_was(layout);
    as_it_was.rank = panel.rank;
    for (std::int32_t k = 0; k < layout.blocks(); ++k)
      put_together(moved.panel, k, moved.data.data(),
                   PageBuffer(panel.column_entries(k) * 8));
    std::ranges::fill(moved.data, 1e300);  // nothing is read from there any more
    for (std::int32_t k = 0; k < layout.blocks(); ++k) {
      const std::int32_t n = layout.width(k);
      DiagonalWork<double> unpacked;
      const auto [diagonal, leading] =
          diagonal_block(&panel, layout, moved.data.data(), k, unpacked);
      const auto whole = as_it_was.tile(before.data(), k, k);
      for (std::int32_t j = 0; j < n; ++j)
        for (std::int32_t i = j; i < n; ++i)
          ASSERT_EQ(diagonal[i + std::int64_t{j} * leading], entry(whole, i, j));
      for (std::int32_t i = k + 1; i < panel.blocks; ++i)
        for (std::int32_t row = 0; row < panel.rows(i); ++row)
          for (std::int32_t j = 0; j < n; ++j)
            ASSERT_EQ(entry(panel.tile(moved.data.data(), i, k), row, j),
                      entry(as_it_was.tile(before.data(), i, k), row, j))
                << "tile " << i << " " << k << " of rank "
                << panel.rank[panel.number(i, k)];
    }
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
