#pragma once

#include <vector>

#include "espalier/model/checkpoint_schedule.h"
#include "training/chain/chain.h"

namespace espalier::training {

/// What decides between schedules that fit.
struct ScheduleCosts {
  /// Of the forward steps, in any unit; empty: all the same. Not used where states are
  /// both in memory and on disk.
  std::vector<Nanoseconds> steps = {};
  /// What it costs to store a state on disk and to restore it, in forward steps: 0 to
  /// 1e6.
  double disk_write = 1, disk_read = 1;
};

/// The schedule of least cost for these slots.
/// @throws InvalidInput for costs out of range
[[nodiscard]] CheckpointSchedule make_schedule(const Chain& chain,
                                               const ChainLimits& limits,
                                               const ScheduleCosts& costs);

}  // namespace espalier::training
