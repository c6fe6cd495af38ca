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
  if (limits.remote_slots > 0)
    levels.push_back({.name = "remote",
                      .slots = limits.remote_slots,
                      .write = in_steps(costs.remote_write),
                      .read = in_steps(costs.remote_read)});
  if (limits.disk_slots > 0)
    levels.push_back({.name = "disk",
                      .slots = limits.disk_slots,
                      .write = in_steps(costs.disk_write),
                      .read = in_steps(costs.disk_read)});
  if (levels.size() == 1) {  // there is no choice of levels
    levels[0].write = levels[0].read = 0;
    steps.forwards = costs.steps;
  }
  auto schedule = plan_checkpoints(chain.steps, levels, steps);
  if (!schedule) throw InvalidInput(schedule.error().message());
  return std::move(*schedule);
}

}  // namespace espalier::training
