#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <limits>
#include <string>

#include "solver/runtime/runtime.h"
#include "training/chain_example.h"
#include "training/chain_runs.h"

namespace espalier::training {
namespace TEST_SOURCE {

// What the example's backward steps add up, every state stored.
double expected_sum(std::int64_t steps) {
  std::vector<double> x = {1};
  for (std::int64_t i = 0; i + 1 < steps; ++i)
    x.push_back(0.5 * x.back() + static_cast<double>(i));
  double sum = 0;
  for (std::size_t i = x.size(); i-- > 0;) sum = 0.25 * sum + x[i];
  return sum;
}

class ChainInC : public testing::Test {
 protected:
  ChainInC() : runtime_({.workers = 2}) { runtime_.wake(); }
  ~ChainInC() override { runtime_.sleep(); }
  solver::Runtime runtime_;
  chain_example example_{40, -1, 0, 0};
  espalier_chain_limits limits_{};
  espalier_chain_report report_{};
};

TEST_F(ChainInC, RunsBackwards) {
  const TemporaryDirectory directory;
  for (const std::int64_t slots : {1, 3, 100})
    for (const std::int64_t disk : {0, 4}) {
      limits_.memory_slots = slots;
      limits_.disk_slots = disk;
      limits_.directory = disk > 0 ? directory.path().c_str() : nullptr;
      ASSERT_EQ(run_chain_example(&example_, limits_, &report_), 0)
          << espalier_chain_last_error();
      EXPECT_EQ(example_.sum, expected_sum(40));
      EXPECT_EQ(example_.backward_steps, 40);
      EXPECT_EQ(report_.executed_steps, report_.planned_steps);
    }
}

TEST_F(ChainInC, FitsSlotsIntoBytes) {
  limits_.memory_bytes = 1;
  EXPECT_EQ(run_chain_example(&example_, limits_, &report_), -ENOMEM);
  EXPECT_NE(std::string(espalier_chain_last_error()).find("at least"), std::string::npos);
  limits_.memory_bytes = 100 << 10;
  ASSERT_EQ(run_chain_example(&example_, limits_, &report_), 0);
  EXPECT_EQ(example_.sum, expected_sum(40));
  EXPECT_GT(report_.memory_slots, 1);
  EXPECT_LE(report_.memory_bytes, limits_.memory_bytes);
}

TEST_F(ChainInC, SaysWhichCallbackFailed) {
  example_.fails_at = 7;
  limits_.memory_slots = 3;
  EXPECT_EQ(run_chain_example(&example_, limits_, &report_), -ECANCELED);
  EXPECT_STREQ(espalier_chain_last_error(), "advance returns 5 in step 7");
}

TEST_F(ChainInC, RefusesArgumentsThatCannotBe) {
  EXPECT_EQ(espalier_chain_run(nullptr, nullptr, nullptr, nullptr), -EINVAL);
  EXPECT_STREQ(espalier_chain_last_error(), "chain is NULL");
  example_.steps = 0;
  limits_.memory_slots = 3;
  EXPECT_EQ(run_chain_example(&example_, limits_, &report_), -EINVAL);
  const std::int64_t costs[] = {1, 2, 3};
  espalier_chain chain{};
  chain.size = sizeof chain;
  chain.steps = -1;
  chain.step_costs = costs;
  espalier_chain_callbacks callbacks{};
  callbacks.size = sizeof callbacks;
  limits_.size = sizeof limits_;
  EXPECT_EQ(espalier_chain_run(&chain, &callbacks, &limits_, nullptr), -EINVAL);
  EXPECT_STREQ(espalier_chain_last_error(), "chain: steps: -1 is not 1 or more");
}

TEST_F(ChainInC, NamesTheSizeOrCostThatCannotBe) {
  chain_example model{4, -1, 0, 0};
  const auto refused = [&](const std::string& message, const auto& set) {
    for (const std::int64_t slots : {3, 0}) {  // 0: as many as fit into bytes
      espalier_chain chain{};
      chain.size = sizeof chain;
      chain.steps = 4;
      chain.state_bytes = sizeof(double);
      set(chain);
      espalier_chain_callbacks callbacks{};
      callbacks.size = sizeof callbacks;
      callbacks.user = &model;
      espalier_chain_limits limits{};
      limits.size = sizeof limits;
      limits.memory_slots = slots;
      limits.memory_bytes = 1 << 20;
      EXPECT_EQ(espalier_chain_run(&chain, &callbacks, &limits, nullptr), -EINVAL);
      EXPECT_EQ(espalier_chain_last_error(), message);
    }
  };
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  refused("chain: state_bytes: 0 is not 1 or more",
          [](espalier_chain& chain) { chain.state_bytes = 0; });
  refused("chain: state_bytes: -9223372036854775808 is not 1 or more",
          [](espalier_chain& chain) { chain.state_bytes = kLeast; });
  static constexpr std::int64_t kParts[] = {8, -1}, kCosts[] = {1, 1, -3, 1};
  refused("chain: part_bytes[1]: -1 is not 1 or more", [](espalier_chain& chain) {
    chain.part_bytes = kParts;
    chain.parts = 2;
  });
  refused("chain: parts: -2 is not 1 or more", [](espalier_chain& chain) {
    chain.part_bytes = kParts;
    chain.parts = -2;
  });
  refused("chain: step_costs[2]: -3 is negative",
          [](espalier_chain& chain) { chain.step_costs = kCosts; });
}

TEST_F(ChainInC, RefusesNegativeLimits) {
  const TemporaryDirectory directory;
  const auto refused = [&](const char* name, const auto& set) {
    limits_ = {};
    limits_.memory_slots = 3;
    limits_.directory = directory.path().c_str();
    set();
    EXPECT_EQ(run_chain_example(&example_, limits_, &report_), -EINVAL) << name;
    EXPECT_EQ(espalier_chain_last_error(),
              fmt::format("limits: {}: -2 is negative", name));
  };
  refused("memory_slots", [&] { limits_.memory_slots = -2; });
  refused("memory_bytes", [&] { limits_.memory_bytes = -2; });
  refused("disk_slots", [&] { limits_.disk_slots = -2; });
  refused("window", [&] { limits_.window = -2; });
}

TEST_F(ChainInC, ADirectoryAloneHasRoomForEveryStep) {
  const TemporaryDirectory directory;
  limits_.directory = directory.path().c_str();
  for (const std::int64_t slots : {1, 0}) {
    limits_.memory_slots = slots;
    limits_.memory_bytes = 100 << 10;
    ASSERT_EQ(run_chain_example(&example_, limits_, &report_), 0);
    EXPECT_EQ(example_.sum, expected_sum(40));
    EXPECT_EQ(report_.disk_bytes, 39 * std::int64_t{sizeof(double)});
  }
}

TEST(ChainInCWithoutStarPU, IsRefused) {
  chain_example example{40, -1, 0, 0};
  espalier_chain_report report{};
  espalier_chain_limits limits{};
  limits.memory_slots = 3;
  EXPECT_EQ(run_chain_example(&example, limits, &report), -EINVAL);
  EXPECT_STREQ(espalier_chain_last_error(),
               "StarPU does not run: starpu_init() comes first");
}

}  // namespace TEST_SOURCE
}  // namespace espalier::training
