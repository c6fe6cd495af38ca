#include "training/chain/chain_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "espalier/checkpoint/h_revolve.h"
#include "espalier/model/error.h"

namespace espalier::training {
namespace {

constexpr Nanoseconds kStep = 1000000;  // the unit of what a disk costs

Nanoseconds in_steps(double steps) {
  if (!is_transfer_cost(steps))
    throw InvalidInput(
        fmt::format("{} steps to write or read a state: from 0 to 1e6", steps));
  return static_cast<Nanoseconds>(std::llround(steps * double{kStep}));
}

}  // namespace

Bytes table_bytes(const Chain& chain, const ChainLimits& limits) {
  if (limits.outer_slots() == 0) return 0;
  constexpr Bytes kColumn = 96;  // costs and their hulls while a row is filled
  // A last level with a slot for every state takes two rows.
  const std::int64_t last =
      limits.disk_slots > 0 ? limits.disk_slots : limits.remote_slots;
  const std::int64_t rows =
      limits.outer_slots() - last + (last >= chain.steps - 1 ? 2 : last);
  return checked_mul(chain.steps, checked_add(kColumn, checked_mul(4, rows)));
}

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
  const bool unequal =
      std::ranges::adjacent_find(costs.steps, std::not_equal_to{}) != costs.steps.end();
  const bool in_memory = limits.outer_slots() == 0;
  if (in_memory) steps.forwards = costs.steps;
  if (costs.closed_form) levels.at(0).write = levels.at(0).read = 0;
  auto schedule = plan_checkpoints(chain.steps, levels, steps);
  if (!schedule) throw InvalidInput(schedule.error().message());
  // Planned as if steps were equal, or storing cost nothing.
  if ((unequal && !in_memory) || costs.closed_form) {
    schedule->proof = CheckpointProof::kBestFound;
    schedule->lower_bound = 0;
  }
  return std::move(*schedule);
}

}  // namespace espalier::training
