#include "solver/tree/trapezoid.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "solver/tree/row_strips.h"

namespace espalier::solver {
namespace TEST_SOURCE {

TEST(Trapezoid, LaysOutTheExampleOfItsComment) {
  const Trapezoid t(5, 4, 2);  // entries a … e, (upper), f … i | k l m, (upper), n o
  EXPECT_EQ(t.blocks(), 2);
  EXPECT_EQ(t.offset(0), 0);
  EXPECT_EQ(t.offset(1), 10);
  EXPECT_EQ(t.leading(0), 5);
  EXPECT_EQ(t.leading(1), 3);
  EXPECT_EQ(t.first(1), 2);
  EXPECT_EQ(t.width(1), 2);
  EXPECT_EQ(t.entries(), 16);
  EXPECT_EQ(t.column_offset(0) + 4, 4);   // e
  EXPECT_EQ(t.column_offset(1) + 1, 6);   // f
  EXPECT_EQ(t.column_offset(2) + 2, 10);  // k
  EXPECT_EQ(t.column_offset(3) + 3, 14);  // n
  EXPECT_EQ(t.column_offset(3) + 4, 15);  // o
}

TEST(Trapezoid, TilesItsStorageExactly) {
  std::mt19937 random(1);
  const auto draw = [&](int first, int last) {
    return std::uniform_int_distribution<std::int32_t>(first, last)(random);
  };
  for (int instance = 0; instance < 2000; ++instance) {
    const std::int32_t rows = draw(0, 60), columns = draw(0, rows), width = draw(1, 70);
    const Trapezoid t(rows, columns, width);
    const auto text = testing::Message() << rows << " " << columns << " " << width;
    std::int64_t next = 0;
    std::int32_t column = 0;
    for (std::int32_t block = 0; block < t.blocks(); ++block) {
      ASSERT_EQ(t.offset(block), next) << text;
      ASSERT_EQ(t.first(block), column) << text;
      ASSERT_GE(t.width(block), 1) << text;
      ASSERT_EQ(t.leading(block), rows - column) << text;
      next += std::int64_t{t.leading(block)} * t.width(block);
      column += t.width(block);
    }
    ASSERT_EQ(column, columns) << text;
    ASSERT_EQ(t.entries(), next) << text;

    std::vector<bool> taken(static_cast<std::size_t>(t.entries()));
    for (std::int32_t j = 0; j < columns; ++j) {
      const std::int32_t block = t.block_of(j);
      ASSERT_TRUE(t.first(block) <= j && j < t.first(block) + t.width(block)) << text;
      for (std::int32_t i = t.first(block); i < rows; ++i) {
        const std::int64_t at = t.column_offset(j) + i;
        ASSERT_EQ(at, t.offset(block) + (i - t.first(block)) +
                          std::int64_t{t.leading(block)} * (j - t.first(block)))
            << text;
        ASSERT_FALSE(taken[static_cast<std::size_t>(at)]) << text;
        taken[static_cast<std::size_t>(at)] = true;
      }
    }
    ASSERT_EQ(std::count(taken.begin(), taken.end(), false), 0) << text;
  }
}

TEST(RowStrips, StandAsTheDrawingOfTheirCommentSays) {
  const Trapezoid t(5, 4, 2);
  const std::vector<std::int32_t> strips = {0, 3, 5};
  const auto expect = [&](std::int32_t strip, std::int32_t block, std::int32_t begin,
                          std::int32_t end, std::int64_t offset) {
    const TilePlace tile = tile_place(t, block, strips[strip], strips[strip + 1]);
    EXPECT_EQ(tile.begin, begin);
    EXPECT_EQ(tile.end, end);
    EXPECT_EQ(tile.offset, offset);
  };
  expect(0, 0, 0, 3, 0);
  expect(1, 0, 3, 5, 6);
  expect(0, 1, 2, 3, 10);
  expect(1, 1, 3, 5, 12);
  EXPECT_EQ(strip_of_row(strips, 2), 0);
  EXPECT_EQ(strip_of_row(strips, 3), 1);
  using Ranges = std::vector<EntryRange>;
  EXPECT_EQ(columns_before(t, strips, 0), (Ranges{{0, 0}}));
  EXPECT_EQ(columns_before(t, strips, 1), (Ranges{{0, 3}, {6, 8}}));
  EXPECT_EQ(columns_before(t, strips, 2), (Ranges{{0, 10}}));
  EXPECT_EQ(columns_before(t, strips, 3), (Ranges{{0, 11}, {12, 14}}));
  EXPECT_EQ(columns_before(t, strips, 4), (Ranges{{0, 16}}));
  EXPECT_EQ(columns_before(t, std::vector<std::int32_t>{0, 5}, 3), (Ranges{{0, 13}}));
}

TEST(Trapezoid, CountsBeyondThirtyTwoBits) {
  const Trapezoid t(200'000, 100'000, 1);
  EXPECT_EQ(t.entries(), 200'000LL * 100'000 - 100'000LL * 99'999 / 2);
  EXPECT_EQ(t.column_offset(99'999) + 199'999, t.entries() - 1);
  EXPECT_EQ(Trapezoid(200'000, 100'000, 100'000).entries(), 200'000LL * 100'000);
}

TEST(Trapezoid, MayBeEmpty) {
  EXPECT_EQ(Trapezoid().entries(), 0);
  EXPECT_EQ(Trapezoid().blocks(), 0);
  EXPECT_EQ(Trapezoid(7, 0, 3).entries(), 0);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
