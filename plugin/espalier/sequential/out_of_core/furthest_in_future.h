#pragma once

#include <span>
#include <vector>

#include "espalier/model/error.h"
#include "espalier/sequential/out_of_core/out_of_core_plan.h"

namespace espalier {

/// What leaves memory when the tasks run in `order` under `bound`: whenever a task does
/// not fit, bytes of the datum whose reader comes last in the order, and no more of them
/// than are missing. First go the data that nobody reads again, oldest first; those of
/// one parent the largest TaskId first.
///
/// No other choice writes fewer bytes in this order, and none reads fewer: the exchange
/// argument for pages [Bel66] holds byte by byte, since each datum is read once [MMSV17].
///
/// @return the plan, or Infeasible for a bound below least_out_of_core()
/// @throws InvalidInput when `order` is not each task once, children first
/// @par Cost  O(n log n) time, O(n) memory
/// @par Test  FurthestInFuture.MovesNoMoreThanAnyOtherChoice
[[nodiscard]] Expected<OutOfCorePlan> furthest_in_future(const TaskTree& tree,
                                                         std::span<const TaskId> order,
                                                         Bytes bound);

namespace detail {
/// Bytes in memory while the task at each position of the plan's order runs and after it,
/// before anything more leaves.
struct OutOfCoreLevels {
  std::vector<Bytes> running, after;
};
/// The same for an order that is known to be one and a bound that is known to suffice.
/// @param levels  filled unless nullptr
OutOfCorePlan furthest_in_future(const TaskTree& tree, std::span<const TaskId> order,
                                 Bytes bound, OutOfCoreLevels* levels);
}  // namespace detail

}  // namespace espalier
