#include "solver/solve/ancestor_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "solver/support/systems.h"

namespace espalier::solver {
namespace TEST_SOURCE {

using Rows = std::vector<std::int32_t>;

//   rows beyond 10 of the node: 11 13 20 21      of the front: 4 9 | 13 21
TEST(AncestorRows, FindTheirPlaces) {
  const Rows of_node = {11, 13, 20, 21};
  Rows place(4, -1);
  const AncestorRows<double> rows{10, of_node, place.data(), {}};
  EXPECT_EQ(rows.find_places(Rows{4, 9, 13, 21}), 2);
  EXPECT_EQ(place, (Rows{1, 3, -1, -1}));
  EXPECT_EQ(rows.find_places(of_node), 0);
  EXPECT_EQ(place, (Rows{0, 1, 2, 3}));
  EXPECT_EQ(rows.find_places(Rows{4, 9}), 2);
  EXPECT_EQ(rows.find_places(Rows{}), 0);
}

TEST(AncestorRows, WithoutALimitAreThoseOfTheVectors) {
  const AncestorRows<float> rows;
  EXPECT_EQ(rows.find_places(Rows{4, 9, 13}), 3);
  std::vector<float> b(14), values = {1, 2, 3};
  rows.add(Rows{4, 9, 13}, {values.data(), 3, 1}, {b.data(), 14, 1});
  EXPECT_EQ(b[4] + 10 * b[9] + 100 * b[13], 321);
}

Rows some_of(std::mt19937& random, std::int32_t first, std::int32_t last, int one_in) {
  Rows rows;
  for (std::int32_t row = first; row < last; ++row)
    if (draw(random, 1, one_in) == 1) rows.push_back(row);
  return rows;
}

TEST(AncestorRows, AddAsOneMapOfAllRowsDoes) {
  std::mt19937 random(3);
  for (int round = 0; round < 1000; ++round) {
    const std::int32_t limit = draw(random, 0, 50), n = limit + draw(random, 1, 300);
    const Rows of_node = some_of(random, limit, n, draw(random, 1, 4));
    Rows of_front = some_of(random, 0, limit, 3);
    const int one_in = draw(random, 1, 40);
    std::ranges::copy_if(of_node, std::back_inserter(of_front),
                         [&](std::int32_t) { return draw(random, 1, one_in) == 1; });
    const std::int64_t own = std::ssize(of_front), beyond = std::ssize(of_node);
    std::vector<double> values(2 * own + 2), out(2 * beyond + 2), b(2 * n);
    for (double& value : values) value = draw(random, -9, 9);
    std::map<std::int32_t, double> expected[2];
    for (int v = 0; v < 2; ++v)
      for (std::int64_t k = 0; k < own; ++k)
        expected[v][of_front[k]] = values[v * (own + 1) + k];
    Rows place(of_node.size());
    const AncestorRows<double> rows{
        limit, of_node, place.data(), {out.data(), beyond + 1, 2}};
    rows.add(of_front, {values.data(), own + 1, 2}, {b.data(), n, 2});
    for (int v = 0; v < 2; ++v) {
      for (std::int32_t row = 0; row < n; ++row)
        ASSERT_EQ(b[v * n + row], row < limit ? expected[v][row] : 0) << "row " << row;
      for (std::int64_t k = 0; k < beyond; ++k)
        ASSERT_EQ(out[v * (beyond + 1) + k], expected[v][of_node[k]]) << "place " << k;
    }
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
