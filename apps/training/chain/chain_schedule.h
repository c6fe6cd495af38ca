#pragma once

#include <vector>

#include "espalier/model/checkpoint_schedule.h"
#include "training/chain/chain.h"

namespace espalier::training {

/// What decides between schedules that fit.
struct ScheduleCosts {
  /// Of the forward steps, in any unit; empty: all the same. Not used where states are
  /// on more than one level.
  std::vector<Nanoseconds> steps = {};
  /// What it costs to store a state on disk and to restore it, in forward steps: 0 to
  /// 1e6.
  double disk_write = 1, disk_read = 1;
  double remote_write = 0.2, remote_read = 0.2;  ///< the same of another process
};

/// The schedule of least cost for these slots.
/// @throws InvalidInput for costs out of range
[[nodiscard]] CheckpointSchedule make_schedule(const Chain& chain,
                                               const ChainLimits& limits,
                                               const ScheduleCosts& costs);

}  // namespace espalier::training
