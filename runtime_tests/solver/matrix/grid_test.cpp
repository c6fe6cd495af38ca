#include "solver/matrix/grid.h"

#include <gtest/gtest.h>

#include "espalier/model/error.h"

namespace espalier::solver {
namespace TEST_SOURCE {

TEST(Grid, ReadsOneToThreeSizes) {
  const GridShape cube = parse_grid("40x30x20");
  EXPECT_EQ(cube.nx, 40);
  EXPECT_EQ(cube.ny, 30);
  EXPECT_EQ(cube.nz, 20);
  const GridShape square = parse_grid("1000x1000");
  EXPECT_EQ(square.ny, 1000);
  EXPECT_EQ(square.nz, 1);
  EXPECT_EQ(parse_grid("7").nx, 7);
}

TEST(Grid, RefusesAnythingElse) {
  for (const char* text :
       {"", "x", "4x", "x4", "4xx4", "4x4x4x4", "4 x4", "4x-1", "0x4", "4x0x4", "4X4",
        "1.5x2", "99999999999x1", "2147483647x2", "100000x100000x100000", "4x4x4 "}) {
    EXPECT_THROW((void)parse_grid(text), InvalidInput) << "'" << text << "'";
  }
  EXPECT_THROW((void)make_grid({65536, 65536, 65536}), InvalidInput);
}

TEST(Grid, IsTheLaplacianOfTwoByTwo) {
  const SymmetricMatrix a = make_grid({2, 2, 1});
  EXPECT_EQ(a.column_start, (std::vector<std::int64_t>{0, 3, 5, 7, 8}));
  EXPECT_EQ(a.row, (std::vector<std::int32_t>{0, 1, 2, 1, 3, 2, 3, 3}));
  EXPECT_EQ(a.value, (std::vector<double>{4, -1, -1, 4, -1, 4, -1, 4}));
}

TEST(Grid, HasSixTimesTheIdentityLessNeighboursInThreeDimensions) {
  const SymmetricMatrix a = make_grid({3, 4, 5});
  ASSERT_EQ(a.size, 60);
  std::vector<int> neighbours(a.size, 0);
  for (std::int32_t column = 0; column < a.size; ++column) {
    EXPECT_EQ(a.row[a.column_start[column]], column);
    EXPECT_EQ(a.value[a.column_start[column]], 6);
    for (auto at = a.column_start[column] + 1; at < a.column_start[column + 1]; ++at) {
      EXPECT_EQ(a.value[at], -1);
      EXPECT_LT(a.row[at - 1], a.row[at]);
      ++neighbours[column];
      ++neighbours[a.row[at]];
    }
  }
  EXPECT_EQ(neighbours[0], 3);                    // a corner
  EXPECT_EQ(neighbours[1 + 3 * (1 + 4 * 1)], 6);  // an inner point
  EXPECT_EQ(a.row.size(), 60u + 2 * 4 * 5 + 3 * 3 * 5 + 3 * 4 * 4);
}

TEST(Grid, OfOnePointIsPositive) {
  const SymmetricMatrix a = make_grid({1, 1, 1});
  EXPECT_EQ(a.row, std::vector<std::int32_t>{0});
  EXPECT_GT(a.value[0], 0);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
