#include "training/adjoint/shallow_water_chain.h"

#include <gtest/gtest.h>

#include "espalier/checkpoint/revolve.h"
#include "solver/runtime.h"
#include "training/shallow_water_steps.h"

namespace espalier::training {
namespace {

struct Outcome {
  ChainReport report;
  Gradient gradient;
};

Outcome run(const ShallowWaterCase& test, std::int64_t steps, std::int32_t bands,
            std::int32_t workers, ActionStream& schedule, const ChainLimits& limits) {
  FirstError errors;
  Outcome outcome;
  ShallowWaterChain water(test, steps, bands, workers, errors);
  outcome.report = run_chain(water.chain(), schedule, water.callbacks(), limits, errors);
  outcome.gradient.misfit = water.misfit();
  const auto copy = [](std::span<const double> values) {
    return Field(values.begin(), values.end());
  };
  outcome.gradient.initial = copy(water.initial_gradient());
  outcome.gradient.drag = copy(water.parameter_gradient());
  return outcome;
}

void expect_same(const Gradient& one, const Gradient& other) {
  EXPECT_EQ(one.misfit, other.misfit);
  EXPECT_EQ(one.initial, other.initial);
  EXPECT_EQ(one.drag, other.drag);
}

TEST(ShallowWaterChain, GradientIsThatOfStoreAllWhateverTheSlotsBandsAndWorkers) {
  constexpr std::int64_t kSteps = 25;
  const ShallowWaterCase test = shallow_water_case(16, 12);
  const Gradient expected = store_all_gradient(test, kSteps);
  for (const std::int32_t workers : {1, 2}) {
    solver::Runtime runtime({.workers = workers});
    runtime.wake();
    for (const std::int32_t bands : {1, 2, 3, 5, 12}) {
      for (const std::int64_t slots : {1, 2, 3, 7, 25}) {
        SCOPED_TRACE(testing::Message() << workers << " workers, " << bands << " bands, "
                                        << slots << " slots");
        RevolveStream schedule(kSteps, slots);
        const Outcome outcome =
            run(test, kSteps, bands, workers, schedule, {.memory_slots = slots});
        expect_same(outcome.gradient, expected);
        EXPECT_EQ(outcome.report.advances, revolve_cost(kSteps, slots));
        EXPECT_EQ(outcome.report.reverses, kSteps);
      }
    }
    runtime.sleep();
  }
}

}  // namespace
}  // namespace espalier::training
