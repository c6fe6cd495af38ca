#include "solver/scaling/nearest_first.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace espalier::solver {
namespace TEST_SOURCE {

constexpr double kAny = std::numeric_limits<double>::infinity();

TEST(NearestFirst, TakesInOrderByHand) {
  NearestFirst open;
  std::vector<double> distance{3, 0.5, 0, 3};
  EXPECT_FALSE(open.take(distance, kAny));
  for (std::int32_t node = 0; node < 4; ++node) open.put(distance[node], node);
  EXPECT_EQ(open.take(distance, kAny), 2);
  open.put(distance[0] = 0.25, 0);  // nearer than before: what was put first is skipped
  EXPECT_EQ(open.take(distance, kAny), 0);
  EXPECT_FALSE(open.take(distance, 0.5));  // not below
  EXPECT_EQ(open.take(distance, 0.75), 1);
  EXPECT_EQ(open.take(distance, kAny), 3);
  EXPECT_FALSE(open.take(distance, kAny));
}

TEST(NearestFirst, IsEmptyAndStartsFromZeroWhenCleared) {
  NearestFirst open;
  const std::vector<double> distance{5, 7, 1};
  open.put(5, 0);
  open.put(7, 1);
  EXPECT_EQ(open.take(distance, kAny), 0);
  open.clear();
  EXPECT_FALSE(open.take(distance, kAny));
  open.put(1, 2);
  EXPECT_EQ(open.take(distance, kAny), 2);
}

// A length: a tie, one that is rounded away, or one of very different exponents.
double random_length(std::mt19937& random) {
  switch (random() % 4) {
    case 0:
      return 0;
    case 1:
      return static_cast<double>(random() % 3);
    case 2:
      return std::ldexp(1, -60);
    default:
      return std::exp2(std::uniform_real_distribution<>(-20, 20)(random));
  }
}

TEST(NearestFirst, TakesWhatALookAtAllNodesFinds) {
  std::mt19937 random(5);
  NearestFirst open;
  for (int instance = 0; instance < 200; ++instance) {
    constexpr double kFinished = -1;
    std::vector<double> distance(50, kAny);
    open.clear();
    double so_far = 0;
    for (int step = 0; step < 300; ++step) {
      const auto node = static_cast<std::int32_t>(random() % distance.size());
      const double length = so_far + random_length(random);
      if (length < distance[node]) open.put(distance[node] = length, node);
      if (random() % 3 > 0) continue;
      double least = kAny;
      for (const double each : distance)
        if (each != kFinished) least = std::min(least, each);
      const auto taken = open.take(distance, kAny);
      ASSERT_EQ(taken.has_value(), least < kAny) << instance << ' ' << step;
      if (!taken) continue;
      ASSERT_EQ(distance[*taken], least) << instance << ' ' << step;
      so_far = least;
      distance[*taken] = kFinished;
    }
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
