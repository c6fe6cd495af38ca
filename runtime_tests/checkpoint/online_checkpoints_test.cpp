#include "espalier/checkpoint/online_checkpoints.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "espalier/model/validate_checkpoint.h"

namespace espalier {
namespace TEST_SOURCE {

std::int64_t binomial(std::int64_t n, std::int64_t k) {
  std::int64_t value = 1;
  for (std::int64_t i = 1; i <= k; ++i) value = value * (n - k + i) / i;
  return value;
}

TEST(OnlineCheckpoints, OptimalWhileTwoRepetitionsSuffice) {
  for (const std::int64_t c : {1, 2, 3, 4, 5, 8, 12, 20}) {
    for (std::int64_t n = 1; n <= binomial(c + 2, c) + 1; ++n) {
      const auto plan = plan_online(n, {{"ram", c}}, {});
      ASSERT_TRUE(plan);
      const Violations wrong = validate_checkpoint(*plan);
      ASSERT_TRUE(wrong.empty()) << n << " steps, " << c << " slots: " << wrong.front();
      ASSERT_EQ(plan->cost, revolve_cost(n, c)) << n << " steps, " << c << " slots";
      ASSERT_EQ(plan->proof, CheckpointProof::kOptimal);
    }
  }
}

// Of a long chain this is what takes the time.
TEST(OnlineCheckpoints, SayHowFarTheyAre) {
  std::vector<double> parts;
  const auto plan = plan_online(100'000, {{"ram", 10}}, {},
                                [&](double part) { parts.push_back(part); });
  ASSERT_TRUE(plan);
  EXPECT_GT(parts.size(), 20U);
  EXPECT_GT(parts.back(), 0.95);
  EXPECT_LE(parts.back(), 1);
  const auto replayed = std::ranges::find_if(parts, [](double part) { return part < 1; });
  EXPECT_TRUE(std::is_sorted(replayed, parts.end()));
}

TEST(OnlineCheckpoints, RatioToTheOptimum) {
  const auto worst = [](std::int64_t c) {
    double ratio = 1;
    const std::int64_t most = std::min<std::int64_t>(1200, binomial(c + 4, c));
    for (std::int64_t n = 2; n <= most; n += 1 + n / 100) {
      const auto plan = plan_online(n, {{"ram", c}}, {});
      EXPECT_TRUE(validate_checkpoint(*plan).empty()) << n << ' ' << c;
      ratio = std::max(ratio, static_cast<double>(plan->cost) /
                                  static_cast<double>(plan->lower_bound));
    }
    return ratio;
  };
  EXPECT_LE(worst(2), 1.145);
  EXPECT_LE(worst(3), 1.065);
  EXPECT_LE(worst(4), 1.045);
  EXPECT_LE(worst(5), 1.055);
  EXPECT_LE(worst(8), 1.025);
  EXPECT_LE(worst(12), 1.045);
  EXPECT_LE(worst(20), 1.0025);
}

TEST(OnlineCheckpoints, DecidesWithoutKnowingTheEnd) {
  OnlineRevolve open(3);
  std::vector<Action> sweep;
  for (int i = 0; i < 40; ++i) sweep.push_back(*open.next());
  for (const std::int64_t n : {2, 7, 20, 41}) {
    const auto stream = plan_online(n, {{"ram", 3}}, {})->actions();
    for (std::int64_t i = 0; i < n - 1; ++i)
      ASSERT_EQ(*stream->next(), sweep[static_cast<std::size_t>(i)]);
    ASSERT_EQ(stream->next()->kind, ActionKind::kEndForward);
  }
  EXPECT_THROW(OnlineRevolve(0), InvalidInput);
}

TEST(PeriodicDiskRevolve, IsNearTheOptimumOfAKnownLength) {
  const std::vector<CheckpointLevel> levels = {{"ram", 5}, {"disk", 0, 5, 5}};
  for (const std::int64_t n : {1, 2, 17, 100, 999, 1500, 1501}) {
    const auto plan = plan_online(n, levels, {});
    ASSERT_TRUE(plan);
    const Violations wrong = validate_checkpoint(*plan);
    ASSERT_TRUE(wrong.empty()) << n << ": " << wrong.front();
    EXPECT_GE(plan->cost, plan->lower_bound);
    if (n >= 999) {
      EXPECT_LE(static_cast<double>(plan->cost),
                (n < 1500 ? 1.012 : 1.006) * static_cast<double>(plan->lower_bound))
          << n;
    }
  }
}

TEST(PeriodicDiskRevolve, ReversesEveryLengthFromTheMemoryOfItsLastPeriod) {
  for (const std::int64_t c : {1, 2, 3, 8}) {
    for (std::int64_t n = 1; n <= 300; ++n) {
      const auto plan = plan_online(n, {{"ram", c}, {"disk", 0, 5, 5}}, {});
      const Violations wrong = validate_checkpoint(*plan);
      ASSERT_TRUE(wrong.empty()) << n << " steps, " << c << " slots: " << wrong.front();
      ASSERT_GE(plan->cost, plan->lower_bound) << n << " steps, " << c << " slots";
    }
  }
}

TEST(PeriodicDiskRevolve, ADiskThatCostsNothingStoresEverything) {
  const PeriodicDiskRevolve sweep({"ram", 3}, {"disk", 0, 0, 0}, {});
  const auto plan = plan_online(50, {{"ram", 3}, {"disk", 0, 0, 0}}, {});
  EXPECT_EQ(plan->cost, 49);
  EXPECT_TRUE(validate_checkpoint(*plan).empty());
  EXPECT_THROW(PeriodicDiskRevolve({"ram", 0}, {"disk", 0, 1, 1}, {}), InvalidInput);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
