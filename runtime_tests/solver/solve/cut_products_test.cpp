#include "solver/solve/cut_products.h"

#include <gtest/gtest.h>

#include <complex>
#include <random>
#include <vector>

#include "solver/kernels/block_solve.h"
#include "solver/support/systems.h"

namespace espalier::solver {
namespace TEST_SOURCE {

// From the last tile to the first, as no single caller does.
class Backwards final : public TileRunner {
 public:
  void run(std::int32_t tiles, const std::function<void(std::int32_t)>& tile) override {
    ++steps;
    for (std::int32_t t = tiles - 1; t >= 0; --t) tile(t);
  }
  int steps = 0;
};

TEST(CutProducts, HaveEvenTilesThatEndAtMultiplesOfEight) {
  const ProductTiles rows = row_tiles(1100, 512, 1);
  ASSERT_EQ(rows.tiles, 2);
  EXPECT_EQ(rows.begin(0), 0);
  EXPECT_EQ(rows.begin(1), 544);
  EXPECT_EQ(rows.begin(2), 1100);
  const ProductTiles columns = column_tiles(1100, 250, 1);
  ASSERT_EQ(columns.tiles, 3);
  EXPECT_EQ(columns.begin(1), 80);
  EXPECT_EQ(columns.begin(2), 160);
  EXPECT_EQ(columns.begin(3), 250);
  EXPECT_EQ(column_tiles(1100, 250, 2).tiles, 2);
}

TEST(CutProducts, AreWholeWhereThereIsLittleToDo) {
  EXPECT_EQ(row_tiles(2047, 128, 1).tiles, 1);
  EXPECT_EQ(row_tiles(2048, 128, 1).tiles, 4);
  EXPECT_EQ(row_tiles(1024, 64, 3).tiles, 1);
  EXPECT_EQ(row_tiles(1024, 64, 4).tiles, 2);
  EXPECT_EQ(row_tiles(1024, 64, 64).tiles, 2);
  EXPECT_EQ(column_tiles(0, 0, 1).tiles, 1);
}

TEST(CutProducts, CoverEverythingOnce) {
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    const std::int32_t rows = draw(random, 0, 9000), columns = draw(random, 0, 600);
    for (const ProductTiles& cut : {row_tiles(rows, columns, draw(random, 1, 9)),
                                    column_tiles(rows, columns, draw(random, 1, 9))}) {
      ASSERT_GE(cut.tiles, 1);
      ASSERT_EQ(cut.begin(0), 0);
      ASSERT_EQ(cut.begin(cut.tiles), cut.size);
      for (std::int32_t t = 0; t < cut.tiles; ++t)
        ASSERT_LE(cut.begin(t) + (cut.tiles > 1 ? 56 : 0), cut.begin(t + 1))
            << rows << " x " << columns;
    }
  }
}

template <class T>
std::vector<T> numbers(std::mt19937& random, std::int64_t count) {
  std::vector<T> result(static_cast<std::size_t>(count));
  for (T& each : result) each = T(RealOf<T>(draw(random, -8, 8)));
  return result;
}

// Groups of a panel's rows, which stand apart, and what becomes of vectors. Rows of the
// panel are those of the vectors from row 2 on.
template <class T>
void check_groups(TileRunner* runner, const PanelPart<T>& panel, std::int32_t nrhs,
                  std::vector<T> x, std::vector<T> y, const std::vector<T>& below,
                  const std::vector<T>& back) {
  const std::int32_t half = panel.rows / 2;
  const std::vector<PanelRows<T>> rows = {
      {2, half, panel.data, panel.leading},
      {2 + half, panel.rows - half, panel.data + half, panel.leading}};
  const PanelGroups<T> groups{panel.rows, panel.columns, rows};
  const std::int64_t x_stride = panel.columns + 1, y_stride = panel.rows + 2;
  std::vector<T> given(2, T{0}), work(static_cast<std::size_t>(y_stride * nrhs));
  given.insert(given.end(), y.begin(), y.end());
  auto changed = given;
  apply_below<T>(runner, groups, {x.data(), x_stride, nrhs},
                 {changed.data(), y_stride, nrhs});
  EXPECT_TRUE(std::equal(below.begin(), below.end(), changed.begin() + 2));
  apply_below_transposed<T>(runner, groups, {given.data(), y_stride, nrhs},
                            {x.data(), x_stride, nrhs}, {work.data(), y_stride, nrhs});
  EXPECT_EQ(x, back);
}

// Small whole numbers: products are exact, however they are summed up.
template <class T>
void check(std::int32_t rows, std::int32_t columns, std::int32_t nrhs) {
  std::mt19937 random(17);
  const std::int32_t leading = rows + 3, x_stride = columns + 1, y_stride = rows + 2;
  const auto a = numbers<T>(random, std::int64_t{leading} * columns);
  const auto x = numbers<T>(random, std::int64_t{x_stride} * nrhs);
  const auto y = numbers<T>(random, std::int64_t{y_stride} * nrhs);
  const PanelPart<T> panel{rows, columns, a.data(), leading};
  Backwards backwards;
  for (TileRunner* const runner :
       {static_cast<TileRunner*>(nullptr), static_cast<TileRunner*>(&backwards)}) {
    auto below = y, expected = y, from = x;
    apply_below<T>(runner, panel, {from.data(), x_stride, nrhs},
                   {below.data(), y_stride, nrhs});
    kernels::apply_below(rows, columns, a.data(), leading, nrhs, x.data(), x_stride,
                         expected.data(), y_stride);
    EXPECT_EQ(below, expected);
    auto back = x, whole = x, given = y;
    apply_below_transposed<T>(runner, panel, {given.data(), y_stride, nrhs},
                              {back.data(), x_stride, nrhs});
    kernels::apply_below_transposed(rows, columns, a.data(), leading, nrhs, y.data(),
                                    y_stride, whole.data(), x_stride);
    EXPECT_EQ(back, whole);
    check_groups(runner, panel, nrhs, x, y, below, back);
  }
  EXPECT_EQ(backwards.steps, 4);
}

TEST(CutProducts, AreThoseOfTheKernels) {
  check<double>(2100, 140, 1);
  check<double>(1030, 300, 5);
  check<float>(2100, 140, 1);
  check<std::complex<double>>(1200, 230, 1);
  check<std::complex<double>>(1200, 230, 3);
  check<HermitianEntry<float>>(1200, 230, 1);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
