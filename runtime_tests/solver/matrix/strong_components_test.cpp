#include "solver/matrix/strong_components.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace espalier::solver {
namespace TEST_SOURCE {

using Places = std::vector<std::pair<std::int32_t, std::int32_t>>;  // row, column

GeneralMatrix matrix_of(std::int32_t size, const Places& places) {
  GeneralMatrix matrix{.size = size, .column_start = {0}, .row = {}, .value = {}};
  for (std::int32_t column = 0; column < size; ++column) {
    for (const auto& [row, where] : places)
      if (where == column) {
        matrix.row.push_back(row);
        matrix.value.push_back(row + 10.0 * column);
      }
    matrix.column_start.push_back(std::ssize(matrix.row));
  }
  return matrix;
}

TEST(StrongComponents, OfTheExampleInTheHeader) {
  EXPECT_EQ(strong_components(matrix_of(3, {{0, 1}, {1, 0}, {1, 2}})),
            (std::vector<std::int32_t>{0, 0, 1}));
  EXPECT_TRUE(strong_components(matrix_of(0, {})).empty());
}

TEST(StrongComponents, EqualReachabilityOnSmallRandomGraphs) {
  std::mt19937 random(91);
  for (int instance = 0; instance < 2000; ++instance) {
    const auto draw = [&](std::int32_t below) {
      return std::uniform_int_distribution(0, below - 1)(random);
    };
    const std::int32_t n = 1 + draw(9);
    Places places;
    std::string text = fmt::format("order {}:", n);
    for (std::int32_t k = draw(2 * n + 1); k > 0; --k) {
      places.emplace_back(draw(n), draw(n));
      text += fmt::format(" ({},{})", places.back().first, places.back().second);
    }
    std::vector<std::vector<bool>> reaches(n, std::vector<bool>(n, false));
    for (std::int32_t i = 0; i < n; ++i) reaches[i][i] = true;
    for (const auto& [row, column] : places) reaches[column][row] = true;
    for (std::int32_t k = 0; k < n; ++k)
      for (std::int32_t i = 0; i < n; ++i)
        for (std::int32_t j = 0; j < n; ++j)
          if (reaches[i][k] && reaches[k][j]) reaches[i][j] = true;

    GeneralMatrix matrix = matrix_of(n, places);
    const std::vector<std::int32_t> component = strong_components(matrix);
    for (std::int32_t i = 0; i < n; ++i)
      for (std::int32_t j = 0; j < n; ++j) {
        ASSERT_EQ(component[i] == component[j], reaches[i][j] && reaches[j][i]) << text;
        if (reaches[j][i]) {
          ASSERT_LE(component[i], component[j]) << text;
        }
      }

    const auto entries = matrix.row.size();
    const ComponentSplit split = split_components(std::move(matrix), component);
    ASSERT_EQ(split.inside.row.size() + split.between.row.size(), entries) << text;
    for (const bool inside : {true, false}) {
      const GeneralMatrix& part = inside ? split.inside : split.between;
      for (std::int32_t j = 0; j < n; ++j)
        for (auto at = part.column_start[j]; at < part.column_start[j + 1]; ++at) {
          ASSERT_EQ(component[part.row[at]] == component[j], inside) << text;
          ASSERT_EQ(part.value[at], part.row[at] + 10.0 * j) << text;
        }
    }
  }
}

TEST(StrongComponents, FollowLongPathsAndCircles) {
  constexpr std::int32_t kSize = 1'000'000;
  GeneralMatrix path{.size = kSize, .column_start = {0}, .row = {}, .value = {}};
  for (std::int32_t j = 0; j < kSize; ++j) {
    if (j + 1 < kSize) path.row.push_back(j + 1);
    path.column_start.push_back(std::ssize(path.row));
  }
  path.value.assign(path.row.size(), 1);
  std::vector<std::int32_t> component = strong_components(path);
  EXPECT_EQ(component.front(), kSize - 1);
  EXPECT_EQ(component.back(), 0);
  path.row.push_back(0);
  path.value.push_back(1);
  ++path.column_start.back();
  component = strong_components(path);
  EXPECT_EQ(std::ranges::count(component, 0), kSize);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
