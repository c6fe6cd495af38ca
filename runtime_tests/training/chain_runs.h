#pragma once

// Running gradient chains in tests.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "espalier/checkpoint/h_revolve.h"
#include "support/temporary_directory.h"
#include "training/chain/gradient_chain.h"

namespace espalier::training {

using support::TemporaryDirectory;

/// The gradients of a run.
struct Result {
  ChainReport report;
  double misfit = 0;
  std::vector<double> initial, parameter;

  void expect_equal(const Result& other) const {
    EXPECT_EQ(misfit, other.misfit);
    EXPECT_EQ(initial, other.initial);
    EXPECT_EQ(parameter, other.parameter);
  }
};

inline Result run(GradientChain& model, ActionStream& schedule, const ChainLimits& limits,
                  FirstError& errors) {
  Result result;
  result.report = run_chain(model.chain(), schedule, model.callbacks(), limits, errors);
  result.misfit = model.misfit();
  result.initial.assign(model.initial_gradient().begin(), model.initial_gradient().end());
  result.parameter.assign(model.parameter_gradient().begin(),
                          model.parameter_gradient().end());
  return result;
}

/// The best schedule for levels in memory and on disk; a disk costs as much as two steps.
inline CheckpointSchedule schedule_for(std::int64_t steps, std::int64_t memory_slots,
                                       std::int64_t disk_slots, StepCosts costs = {}) {
  std::vector<CheckpointLevel> levels;
  if (memory_slots > 0) levels.push_back({.name = "ram", .slots = memory_slots});
  if (disk_slots > 0) {
    levels.push_back({.name = "disk", .slots = disk_slots});
    if (memory_slots > 0) levels.back().write = levels.back().read = 2;
  }
  auto schedule = plan_checkpoints(steps, levels, costs);
  EXPECT_TRUE(schedule.has_value());
  return schedule.value();
}

}  // namespace espalier::training
