#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "solver/runtime/runtime.h"
#include "training/adjoint/ice_sheet_chain.h"
#include "training/chain_runs.h"
#include "training/taylor.h"

namespace espalier::training {
namespace TEST_SOURCE {

constexpr double kTolerance = 1e-8;
constexpr std::int32_t kMostTurns = 12;

using Field = std::vector<double>;

double misfit_of(const IceSheetCase& test, const std::vector<std::int32_t>& turns) {
  IceSheet sheet(test, kMostTurns);
  Field h = test.initial;
  for (std::size_t step = 0; step < turns.size(); ++step)
    sheet.step(std::int64_t(step), turns[step], h, h);
  return sheet.misfit(h);
}

// Every state stored, in one thread.
Result store_all(const IceSheetCase& test, const std::vector<std::int32_t>& turns) {
  IceSheet sheet(test, kMostTurns);
  std::vector<Field> states = {test.initial};
  for (std::size_t step = 0; step < turns.size(); ++step) {
    Field next(test.cells());
    sheet.step(std::int64_t(step), turns[step], states.back(), next);
    states.push_back(next);
  }
  Result result{
      {}, sheet.misfit(states.back()), Field(test.cells()), Field(test.corners())};
  sheet.misfit_adjoint(states.back(), result.initial);
  for (std::size_t step = turns.size(); step-- > 0;)
    sheet.step_adjoint(std::int64_t(step), turns[step], states[step], result.initial,
                       result.parameter);
  return result;
}

TEST(IceSheet, NeedsMoreTurnsInSomeSteps) {
  const IceSheetCase test = ice_sheet_case(14, 11);
  IceSheet sheet(test, kMostTurns);
  const auto turns = sound_ice_sheet(test, sheet, 40, kTolerance);
  EXPECT_GE(std::ranges::min(turns), 1);
  EXPECT_LT(std::ranges::max(turns), kMostTurns) << "the iteration does not converge";
  EXPECT_GT(std::ranges::max(turns), std::ranges::min(turns));
}

TEST(IceSheet, KeepsTheVolumeThatNothingIsAddedTo) {
  IceSheetCase test = ice_sheet_case(14, 11);
  std::ranges::fill(test.balance, 0.0);
  IceSheet sheet(test, kMostTurns);
  Field h = test.initial;
  for (int step = 0; step < 10; ++step) sheet.step(step, 3, h, h);
  const double before = std::accumulate(test.initial.begin(), test.initial.end(), 0.0);
  EXPECT_NEAR(std::accumulate(h.begin(), h.end(), 0.0), before, 1e-10 * before);
}

TEST(IceSheet, TaylorRemainderFallsByFourAHalving) {
  const IceSheetCase test = ice_sheet_case(10, 9);
  const std::vector<std::int32_t> turns = {3, 2, 4, 2};
  const Result gradient = store_all(test, turns);
  std::mt19937_64 engine(5);
  std::uniform_real_distribution<double> number(-1, 1);
  Field dh(test.cells()), dr(test.corners());
  for (double& each : dh) each = 40 * number(engine);
  for (std::size_t c = 0; c < dr.size(); ++c) dr[c] = 0.3 * test.rate[c] * number(engine);
  const double slope =
      std::inner_product(dh.begin(), dh.end(), gradient.initial.begin(), 0.0) +
      std::inner_product(dr.begin(), dr.end(), gradient.parameter.begin(), 0.0);
  const auto remainder = [&](double e) {
    IceSheetCase moved = test;
    for (std::size_t p = 0; p < dh.size(); ++p) moved.initial[p] += e * dh[p];
    for (std::size_t c = 0; c < dr.size(); ++c) moved.rate[c] += e * dr[c];
    return std::abs(misfit_of(moved, turns) - gradient.misfit - e * slope);
  };
  expect_second_order(remainder, 0.1, 0.01, 0.3);
}

TEST(IceSheet, GradientIsThatOfStoreAllWhateverTheSlots) {
  const IceSheetCase test = ice_sheet_case(12, 10);
  IceSheet sheet(test, kMostTurns);
  solver::Runtime runtime({.workers = 2});
  runtime.wake();
  const auto turns = sound_ice_sheet(test, sheet, 14, kTolerance);
  const Result expected = store_all(test, turns);
  StepCosts costs;
  costs.forwards.assign(turns.begin(), turns.end());
  for (const std::int64_t slots : {1, 2, 4, 14}) {
    SCOPED_TRACE(testing::Message() << slots << " slots");
    FirstError errors;
    IceSheetChain chain(test, sheet, turns, errors);
    const CheckpointSchedule schedule = schedule_for(14, slots, 0, costs);
    const Result result =
        run(chain, *schedule.actions(), {.memory_slots = slots}, errors);
    result.expect_equal(expected);
    EXPECT_EQ(result.report.advances, schedule.advances);
  }
  runtime.sleep();
}

}  // namespace TEST_SOURCE
}  // namespace espalier::training
