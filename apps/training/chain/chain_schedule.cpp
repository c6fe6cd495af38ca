#include "training/chain/chain_schedule.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "espalier/checkpoint/h_revolve.h"
#include "espalier/model/error.h"

namespace espalier::training {
namespace {

constexpr Nanoseconds kStep = 1000000;  // the unit of what a disk costs

Nanoseconds in_steps(double steps) {
  if (!(steps >= 0 && steps <= 1e6))
    throw InvalidInput(
        fmt::format("{} steps to write or read a state: from 0 to 1e6", steps));
  return static_cast<Nanoseconds>(std::llround(steps * double{kStep}));
}

}  // namespace

CheckpointSchedule make_schedule(const Chain& chain, const ChainLimits& limits,
                                 const ScheduleCosts& costs) {
  StepCosts steps;
  steps.forward = kStep;
  std::vector<CheckpointLevel> levels;
  if (limits.memory_slots > 0)
    levels.push_back({.name = "ram", .slots = limits.memory_slots});
  if (limits.disk_slots > 0)
    levels.push_back({.name = "disk", .slots = limits.disk_slots});
  if (levels.size() == 2) {
    levels[1].write = in_steps(costs.disk_write);
    levels[1].read = in_steps(costs.disk_read);
  } else {
    steps.forwards = costs.steps;
  }
  auto schedule = plan_checkpoints(chain.steps, levels, steps);
  if (!schedule) throw InvalidInput(schedule.error().message());
  return std::move(*schedule);
}

}  // namespace espalier::training
