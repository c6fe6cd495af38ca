#include "training/adjoint/shallow_water_chain.h"

#include <gtest/gtest.h>

#include "solver/runtime/runtime.h"
#include "training/chain_runs.h"
#include "training/shallow_water_steps.h"

namespace espalier::training {
namespace TEST_SOURCE {

constexpr std::int64_t kSteps = 25;

Result store_all(const ShallowWaterCase& test) {
  Gradient gradient = store_all_gradient(test, kSteps);
  return {{}, gradient.misfit, std::move(gradient.initial), std::move(gradient.drag)};
}

struct Levels {
  std::int64_t memory, disk;
  bool overlap = true;
};

void expect_store_all(const ShallowWaterCase& test, const Result& expected,
                      std::int32_t workers, std::int32_t bands, const Levels& levels) {
  SCOPED_TRACE(testing::Message()
               << workers << " workers, " << bands << " bands, " << levels.memory
               << " slots in memory, " << levels.disk << " on disk");
  const TemporaryDirectory directory;
  FirstError errors;
  ShallowWaterChain water(test, kSteps, bands, workers, errors);
  const CheckpointSchedule schedule = schedule_for(kSteps, levels.memory, levels.disk);
  const Result result = run(water, *schedule.actions(),
                            {.memory_slots = levels.memory,
                             .disk_slots = levels.disk,
                             .directory = directory.path(),
                             .overlap = levels.overlap},
                            errors);
  result.expect_equal(expected);
  EXPECT_EQ(result.report.advances, schedule.advances);
  EXPECT_EQ(result.report.reverses, kSteps);
  if (levels.disk == 0) return;
  const LevelUse use = schedule.use.back();
  EXPECT_EQ(result.report.disk_restores, use.reads);
  EXPECT_EQ(result.report.bytes_read, use.reads * water.chain().state_bytes());
  EXPECT_EQ(result.report.bytes_written,
            result.report.disk_stores * water.chain().state_bytes());
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(ShallowWaterChain, GradientIsThatOfStoreAllWhateverTheSlotsBandsAndWorkers) {
  const ShallowWaterCase test = shallow_water_case(16, 12);
  const Result expected = store_all(test);
  for (const std::int32_t workers : {1, 2}) {
    solver::Runtime runtime({.workers = workers});
    runtime.wake();
    for (const std::int32_t bands : {1, 2, 3, 12})
      for (const std::int64_t slots : {1, 2, 7, 25})
        expect_store_all(test, expected, workers, bands, {slots, 0});
    runtime.sleep();
  }
}

TEST(ShallowWaterChain, GradientIsThatOfStoreAllWithStatesOnDisk) {
  const ShallowWaterCase test = shallow_water_case(16, 12);
  const Result expected = store_all(test);
  for (const std::int32_t workers : {1, 2}) {
    solver::Runtime runtime({.workers = workers});
    runtime.wake();
    for (const bool overlap : {true, false})
      for (const Levels levels :
           {Levels{0, 1}, {0, 3}, {0, 25}, {1, 1}, {1, 25}, {2, 3}, {3, 25}})
        expect_store_all(test, expected, workers, 3,
                         {levels.memory, levels.disk, overlap});
    runtime.sleep();
  }
}

TEST(ShallowWaterChain, RunsUnderOtherSchedulers) {
  const ShallowWaterCase test = shallow_water_case(16, 12);
  const Result expected = store_all(test);
  solver::Runtime runtime({.workers = 2, .scheduler = "lws"});
  runtime.wake();
  expect_store_all(test, expected, 2, 4, {2, 2});
  runtime.sleep();
}

}  // namespace TEST_SOURCE
}  // namespace espalier::training
