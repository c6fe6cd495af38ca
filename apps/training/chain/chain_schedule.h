#pragma once

#include <vector>

#include "espalier/model/checkpoint_schedule.h"
#include "training/chain/chain.h"

namespace espalier::training {

/// What decides between schedules that fit.
struct ScheduleCosts {
  /// Of the forward steps, in any unit; empty: all the same. Used where states are in
  /// memory alone; else the schedule is that of equal steps, and nothing is proved of it.
  std::vector<Nanoseconds> steps = {};
  /// What it costs to store a state on disk and to restore it, in forward steps: 0 to
  /// 1e6.
  double disk_write = 1, disk_read = 1;
  double remote_write = 0.2, remote_read = 0.2;  ///< the same of another process
  /// States are on one level, and storing them costs nothing: a schedule that needs no
  /// tables, of which nothing is proved.
  bool closed_form = false;
};

/// What a store or a restore can cost, in forward steps.
inline constexpr double kMostTransferCost = 1e6;
[[nodiscard]] constexpr bool is_transfer_cost(double steps) {
  return steps >= 0 && steps <= kMostTransferCost;
}

/// About the most memory that make_schedule() takes for tables where states are not in
/// memory alone; with equal steps there it takes none. @throws OverflowError
[[nodiscard]] Bytes table_bytes(const Chain& chain, const ChainLimits& limits);

/// The schedule of least cost for these slots, or the one of equal steps.
/// @throws InvalidInput for costs out of range
[[nodiscard]] CheckpointSchedule make_schedule(const Chain& chain,
                                               const ChainLimits& limits,
                                               const ScheduleCosts& costs);

}  // namespace espalier::training
