// The cases of one subject, which share their instances: over 300 lines.
#include "espalier/checkpoint/h_revolve.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "espalier/checkpoint/revolve.h"
#include "espalier/checkpoint/split_search.h"
#include "espalier/model/replay_checkpoint.h"
#include "espalier/model/validate_checkpoint.h"
#include "support/exact_checkpoints.h"

namespace espalier {
namespace TEST_SOURCE {

struct Instance {
  std::int64_t steps;
  std::vector<CheckpointLevel> levels;
  StepCosts costs;
};

std::string describe(const Instance& in) {
  std::string text =
      fmt::format("{} steps of {} and {}", in.steps, in.costs.forward, in.costs.backward);
  for (const Nanoseconds cost : in.costs.forwards) text += fmt::format(" {}", cost);
  for (const CheckpointLevel& level : in.levels)
    text += fmt::format(", {} slots w {} r {}", level.slots, level.write, level.read);
  return text;
}

std::int64_t exact_cost(const Instance& in, bool last_read_once = false) {
  support::ExactChain chain;
  for (std::int64_t i = 0; i < in.steps; ++i)
    chain.forward.push_back(in.costs.forward_of(i));
  chain.backward = in.costs.backward;
  for (const CheckpointLevel& level : in.levels) {
    chain.levels.push_back({static_cast<int>(std::min<std::int64_t>(level.slots, 13)),
                            level.write, level.read});
  }
  chain.starts_stored = in.levels.size() == 1;
  chain.last_read_once = last_read_once;
  return support::ExactCheckpoints(chain).cost();
}

// Levels of costs that do not fall, from nothing to some steps.
Instance random_instance(std::mt19937& random, std::int64_t most_steps, int most_levels,
                         int most_slots) {
  const auto draw = [&random](std::int64_t first, std::int64_t last) {
    return std::uniform_int_distribution<std::int64_t>(first, last)(random);
  };
  Instance in{draw(1, most_steps), {}, {}};
  in.costs.forward = draw(0, 4);
  in.costs.backward = draw(0, 3);
  Nanoseconds write = draw(0, 1) * draw(0, 3), read = draw(0, 1) * draw(0, 3);
  for (std::int64_t k = draw(1, most_levels); k > 0; --k) {
    in.levels.push_back({"level", draw(1, most_slots), write, read});
    write += draw(0, 5);
    read += draw(0, 5);
  }
  if (draw(0, 5) == 0) in.levels.back().slots = in.steps + draw(0, 3);
  return in;
}

void expect_cost(const ExpectedSlots<CheckpointSchedule>& plan, std::int64_t cost,
                 const Instance& in) {
  ASSERT_TRUE(plan) << describe(in);
  ASSERT_EQ(plan->cost, cost) << describe(in);
  const Violations wrong = validate_checkpoint(*plan);
  ASSERT_TRUE(wrong.empty()) << describe(in) << ": " << wrong.front();
  const CheckpointReplay replay = replay_checkpoint(*plan);
  ASSERT_EQ(replay.cost, plan->cost) << describe(in);
  ASSERT_EQ(replay.use, plan->use) << describe(in);
  ASSERT_EQ(replay.advances, plan->advances) << describe(in);
}

void expect_optimal(const Instance& in) {
  expect_cost(plan_checkpoints(in.steps, in.levels, in.costs), exact_cost(in), in);
}

void expect_optimal(int seed, int instances, std::int64_t most_steps, int levels,
                    int most_slots) {
  std::mt19937 random(static_cast<unsigned>(seed));
  for (int k = 0; k < instances; ++k) {
    Instance in = random_instance(random, most_steps, levels, most_slots);
    while (std::ssize(in.levels) != levels)
      in = random_instance(random, most_steps, levels, most_slots);
    expect_optimal(in);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(HRevolve, EqualsExhaustiveSearchOnOneLevel) { expect_optimal(19, 3000, 13, 1, 3); }

TEST(HRevolve, EqualsExhaustiveSearchOnTwoLevels) {
  expect_optimal(20, 4000, 7, 2, 3);
  expect_optimal(22, 30, 12, 2, 2);
}

TEST(HRevolve, EqualsExhaustiveSearchOnThreeLevels) {
  expect_optimal(21, 3000, 6, 3, 2);
  expect_optimal(26, 10, 9, 3, 2);
}

TEST(HRevolve, ReadOnceEqualsExhaustiveSearch) {
  std::mt19937 random(27);
  for (int k = 0; k < 4000; ++k) {
    Instance in = random_instance(random, k < 3900 ? 7 : 10, k % 8 == 0 ? 3 : 2, 2);
    if (in.levels.size() == 1) continue;
    if (in.levels.size() == 3) in.steps = std::min<std::int64_t>(in.steps, 5);
    const auto plan = plan_read_once(in.steps, in.levels, in.costs);
    expect_cost(plan, exact_cost(in, true), in);
    if (HasFatalFailure()) return;
    ASSERT_EQ(plan->use.back().reads, plan->use.back().writes) << describe(in);
    ASSERT_EQ(plan->lower_bound, plan_checkpoints(in.steps, in.levels, in.costs)->cost);
  }
}

TEST(HRevolve, ReadOnceByHand) {
  // x_0 … x_3, one slot in memory, on disk two of w = r = 1. The sweep stores x_0 and x_2
  // there; x_3 takes one step more, then x_2 and x_0 are read, and x_1 is a step from
  // x_0, which memory keeps: 3 + 2 + 2 + 1. Memory alone: 3 + 2 + 1.
  const std::vector<CheckpointLevel> levels = {{"ram", 1}, {"disk", 2, 1, 1}};
  EXPECT_EQ(plan_read_once(4, levels, {})->cost, 6);
  const auto plan = plan_read_once(40, levels, {});
  EXPECT_EQ(plan->proof, CheckpointProof::kOptimalReadOnce);
  EXPECT_EQ(plan->use[1], (LevelUse{2, 2}));
  EXPECT_THROW((void)plan_read_once(4, {{"ram", 1}}, {}), InvalidInput);
  EXPECT_THROW((void)plan_read_once(4, {{"ram", 1}, {"disk", 0, 1, 1}}, {}),
               InvalidInput);
  EXPECT_FALSE(plan_read_once(4, {{"ram", 0}, {"disk", 0, 1, 1}}, {}));
}

TEST(UnevenRevolve, EqualsExhaustiveSearch) {
  std::mt19937 random(23);
  for (int k = 0; k < 3000; ++k) {
    Instance in = random_instance(random, 13, 1, 4);
    in.levels[0].write = in.levels[0].read = 0;
    for (std::int64_t i = 0; i < in.steps; ++i)
      in.costs.forwards.push_back(std::uniform_int_distribution<int>(0, 9)(random));
    expect_optimal(in);
    if (HasFatalFailure()) return;
  }
}

TEST(UnevenRevolve, EqualStepsAreRevolve) {
  StepCosts costs;
  costs.forwards.assign(120, 7);
  for (const std::int64_t slots : {1, 2, 3, 5, 9, 200}) {
    const auto plan = plan_checkpoints(120, {{"ram", slots}}, costs);
    EXPECT_EQ(plan->cost, 7 * revolve_cost(120, slots)) << slots;
    EXPECT_TRUE(validate_checkpoint(*plan).empty());
  }
}

// The recurrence as it is written, trying every j.
std::int64_t by_recurrence(const Instance& in) {
  constexpr std::int64_t kInfinite = std::numeric_limits<std::int64_t>::max() / 8;
  const auto length = static_cast<std::size_t>(in.steps);
  const std::int64_t uf = in.costs.forward, ub = in.costs.backward;
  std::vector<std::int64_t> below(length, kInfinite);
  below[0] = ub;
  for (const CheckpointLevel& level : in.levels) {
    std::vector<std::int64_t> right = below;
    for (std::int64_t m = 1; m <= level.slots; ++m) {
      std::vector<std::int64_t> stored(length, ub), fresh(length, ub);
      for (std::size_t l = 1; l < length; ++l) {
        stored[l] = below[l];
        for (std::size_t j = 1; j <= l; ++j) {
          stored[l] = std::min(stored[l], static_cast<std::int64_t>(j) * uf +
                                              right[l - j] + level.read + stored[j - 1]);
        }
        fresh[l] = std::min(below[l], level.write + stored[l]);
      }
      right = fresh;
    }
    below = right;
  }
  return below.back();
}

// x_0 lies in its slot from the start: its write is not paid for.
TEST(HRevolve, OneLevelWithASlotForEveryStateEqualsTheFullRecurrence) {
  for (const Nanoseconds write : {0, 1, 7, 40, 3000})
    for (const Nanoseconds read : {0, 1, 9, 500}) {
      if (write + read == 0) continue;
      Instance in{90, {{"disk", 89, write, read}}, {}};
      in.costs.forward = 2;
      const auto plan = plan_checkpoints(in.steps, in.levels, in.costs);
      ASSERT_EQ(plan->cost, by_recurrence(in) - write) << describe(in);
      ASSERT_TRUE(validate_checkpoint(*plan).empty()) << describe(in);
      in.steps = in.levels[0].slots = 100'000;  // a row for each slot would be 40 GB
      const auto longer = plan_checkpoints(in.steps, in.levels, in.costs);
      ASSERT_TRUE(validate_checkpoint(*longer).empty()) << describe(in);
    }
}

// The square of the steps, which no schedule comes near to, is above 2^63 ns.
TEST(HRevolve, ADiskAloneReversesChainsOfAnyLength) {
  const std::int64_t steps = 3'000'001;
  for (const Nanoseconds odd : {0, 1}) {
    // A state every 3 steps: 3 forwards, then 2 + 1 again.
    const Nanoseconds forward = 1'000'000, write = 5 * forward + odd, read = 4 * forward;
    const StepCosts costs{.forward = forward, .forwards = {}};
    const auto plan = plan_checkpoints(steps, {{"disk", steps, write, read}}, costs);
    EXPECT_EQ(plan->cost, 1'000'000 * (write + 6 * forward + 3 * read) - write);
    EXPECT_TRUE(validate_checkpoint(*plan).empty());
  }
  const StepCosts costs{.forward = 1'000'000, .forwards = {}};
  const auto few = plan_checkpoints(steps, {{"disk", 5, 5'000'000, 4'000'000}}, costs);
  EXPECT_TRUE(validate_checkpoint(*few).empty());
}

TEST(HRevolve, EqualsTheFullRecurrenceOnLongerChains) {
  std::mt19937 random(24);
  for (int k = 0; k < 60; ++k) {
    Instance in = random_instance(random, 3, 4, 9);
    in.steps = std::uniform_int_distribution<std::int64_t>(50, 260)(random);
    in.costs.forward = std::uniform_int_distribution<int>(1, 3)(random);
    for (CheckpointLevel& level : in.levels) {
      level.write *= 3;
      level.slots = std::min<std::int64_t>(level.slots, 12);
    }
    if (in.levels.size() == 1) in.levels.push_back({"disk", 6, 9, 7});
    if (!in.levels.empty() && k % 4 == 0) in.levels.back().slots = in.steps;
    const auto plan = plan_checkpoints(in.steps, in.levels, in.costs);
    ASSERT_EQ(plan->cost, by_recurrence(in)) << describe(in);
    ASSERT_TRUE(validate_checkpoint(*plan).empty()) << describe(in);
  }
}

// Few slots with costs: rows of many turns, which come back periodically.
TEST(HRevolve, EqualsTheFullRecurrenceWhereRowsArePeriodic) {
  for (const Nanoseconds write : {5, 20, 100})
    for (const std::int64_t memory : {0, 1, 2}) {
      Instance in{1500, {}, {}};
      if (memory > 0) in.levels.push_back({"ram", memory, 0, 0});
      in.levels.push_back({"disk", 12, write, write / 2});
      const auto plan = plan_checkpoints(in.steps, in.levels, in.costs);
      const Nanoseconds first = memory == 0 ? write : 0;  // x_0 is there
      ASSERT_EQ(plan->cost, by_recurrence(in) - first) << describe(in);
      ASSERT_TRUE(validate_checkpoint(*plan).empty()) << describe(in);
    }
}

// Large figures: doubles of the hulls no longer tell neighbours apart.
TEST(HRevolve, ScalesWithItsCosts) {
  const std::vector<CheckpointLevel> levels = {{"a", 3}, {"b", 4, 7, 5}, {"c", 2, 11, 9}};
  StepCosts costs{.forward = 3, .backward = 1, .forwards = {}};
  const Nanoseconds small = plan_checkpoints(300, levels, costs)->cost;
  const Nanoseconds times = (Nanoseconds{1} << 40) + 1;
  std::vector<CheckpointLevel> large = levels;
  for (CheckpointLevel& level : large) level.write *= times, level.read *= times;
  costs = {.forward = 3 * times, .backward = times, .forwards = {}};
  EXPECT_EQ(plan_checkpoints(300, large, costs)->cost, small * times);
  ++large[2].read;  // no common divisor is left
  const Nanoseconds odd = plan_checkpoints(300, large, costs)->cost;
  EXPECT_EQ(odd, by_recurrence({300, large, costs}));
}

TEST(HRevolve, TwoLevelsByHand) {
  // x_0 … x_3. The slot in memory alone: sweeps of 3, 2 and 1 steps. A state on disk
  // saves two steps at most, and costs a store and a restore.
  const auto plan = plan_checkpoints(4, {{"ram", 1}, {"disk", 1, 1, 1}}, {});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->cost, 6);
  EXPECT_EQ(plan_checkpoints(4, {{"ram", 1}, {"disk", 1}}, {})->cost, revolve_cost(4, 2));
}

TEST(HRevolve, CostsThatFallAreNotProved) {
  const auto plan = plan_checkpoints(40, {{"slow", 3, 9, 9}, {"fast", 3, 1, 1}}, {});
  ASSERT_TRUE(plan);
  EXPECT_LE(plan->lower_bound, plan->cost);
  EXPECT_EQ(plan->proof == CheckpointProof::kOptimal, plan->lower_bound == plan->cost);
  EXPECT_TRUE(validate_checkpoint(*plan).empty());
}

TEST(HRevolve, RefusesWithTheLeastThatSuffices) {
  const auto plan = plan_checkpoints(5, {{"ram", 0}}, {});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().least_slots, 1);
  EXPECT_TRUE(plan_checkpoints(1, {{"ram", 0}}, {}));
  EXPECT_THROW((void)plan_checkpoints(5, {}, {}), InvalidInput);
  EXPECT_THROW((void)plan_checkpoints(5, {{"ram", 2}, {"disk", 0, 1, 1}}, {}),
               InvalidInput);
  EXPECT_THROW((void)plan_checkpoints(5, {{"ram", 2, -1, 0}}, {}), InvalidInput);
  EXPECT_THROW((void)plan_checkpoints(1 << 30, {{"ram", 2}, {"disk", 9, 1, 1}},
                                      {.forward = Nanoseconds{1} << 50, .forwards = {}}),
               OverflowError);
}

// Rows of steps that are all different; and straight ones, with turns of either kind.
TEST(SplitSearch, EqualsTryingAll) {
  std::mt19937 random(25);
  for (int k = 0; k < 600; ++k) {
    const int bend = std::uniform_int_distribution<int>(1, 40)(random);
    const int stretch =
        k % 3 == 0 ? 1 : std::uniform_int_distribution<int>(2, 30)(random);
    HullRow right(80), left(80);
    Nanoseconds a = 0, b = 0, right_step = 0, left_step = 0;
    for (int i = 0; i < 80; ++i) {
      if (i % stretch == 0)
        right_step = i / bend + std::uniform_int_distribution<int>(0, 5)(random);
      if (i % (stretch + k % 2) == 0)
        left_step = i / 9 + std::uniform_int_distribution<int>(0, 9)(random);
      right.append(a += right_step);
      left.append(b += left_step);
    }
    SplitSearch search(2, 3);
    for (std::int64_t l = 1; l < 80; ++l) {
      const auto cost = [&](std::int64_t j) {
        return 2 * j + 3 + right.value(static_cast<std::size_t>(l - j)) +
               left.value(static_cast<std::size_t>(j - 1));
      };
      Nanoseconds least = 5 * l;
      for (std::int64_t j = 1; j <= l; ++j) least = std::min(least, cost(j));
      const auto best = search.least(l, 5 * l, right, left);
      ASSERT_EQ(best.value, least) << "instance " << k << ", l = " << l;
      ASSERT_EQ(best.split == 0 ? 5 * l : cost(best.split), least);
    }
  }
}

// Rows of stretches, each with differences of its own that repeat themselves; with a
// little noise now and then.
HullRow periodic_row(std::mt19937& random, int size) {
  const auto draw = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  HullRow row(static_cast<std::size_t>(size));
  Nanoseconds value = 0;
  while (row.size() < static_cast<std::size_t>(size)) {
    std::vector<int> motif(static_cast<std::size_t>(draw(1, 9)));
    const int base = static_cast<int>(row.size()) / 100;
    for (int& each : motif) each = base + draw(0, 2);
    const int length = draw(1, 40) * static_cast<int>(motif.size());
    for (int i = 0; i < length && row.size() < static_cast<std::size_t>(size); ++i) {
      value += motif[static_cast<std::size_t>(i) % motif.size()] + (draw(0, 200) == 0);
      row.append(value);
    }
  }
  return row;
}

TEST(SplitSearch, EqualsTryingAllWhereRowsArePeriodic) {
  std::mt19937 random(26);
  for (int k = 0; k < 40; ++k) {
    constexpr int kSize = 700;
    const HullRow right = periodic_row(random, kSize);
    const HullRow whole = periodic_row(random, kSize);
    HullRow left(kSize);
    left.append(whole.value(0));
    SplitSearch search(1, 3);
    for (std::int64_t l = 1; l < kSize; ++l) {
      Nanoseconds least = 20 * l;
      for (std::int64_t j = 1; j <= l; ++j) {
        least = std::min(least, j + 3 + right.value(static_cast<std::size_t>(l - j)) +
                                    left.value(static_cast<std::size_t>(j - 1)));
      }
      ASSERT_EQ(search.least(l, 20 * l, right, left).value, least)
          << "instance " << k << ", l = " << l;
      left.append(whole.value(static_cast<std::size_t>(l)));
    }
  }
}

TEST(PeriodicRuns, AreWhatTheySay) {
  std::mt19937 random(27);
  std::size_t found = 0, places = 0;
  for (int k = 0; k < 30; ++k) {
    const HullRow row = periodic_row(random, 1000);
    for (std::int64_t i = 0; i < 1000; ++i, ++places) {
      const auto run = row.runs().around(i);
      if (!run) continue;
      ++found;
      ASSERT_TRUE(run->first <= i && i <= run->last && run->last < 1000);
      const auto rise = [&](std::int64_t at) {
        return row.value(static_cast<std::size_t>(at + run->period)) -
               row.value(static_cast<std::size_t>(at));
      };
      ASSERT_GE(run->last - run->first, run->period);
      for (std::int64_t at = run->first; at + run->period <= run->last; ++at)
        ASSERT_EQ(rise(at), rise(run->first)) << "instance " << k << ", at " << at;
    }
  }
  EXPECT_GT(found, places / 2);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
