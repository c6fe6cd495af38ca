#pragma once

#include <vector>

#include "espalier/model/replay.h"
#include "espalier/report/lanes.h"
#include "espalier/report/memory_chart.h"
#include "espalier/report/occupancy.h"
#include "espalier/report/run_sweep.h"
#include "espalier/report/subtrees.h"

namespace espalier::report {

/// A window of a run, in as many columns as can be looked at.
struct RunView {
  Window window;
  MemoryChart memory;
  std::vector<Lane> lanes;  ///< empty for an order
  Occupancy occupancy;
};

/// A run of a tree from far and, around its peak, from near.
struct RunPicture {
  Replay replay;  ///< without its profile
  RunView whole;
  RunView peak;             ///< every moment around the first peak
  std::vector<Bytes> held;  ///< by task, at the first peak: see HoldingBuilder
};

/// @throws InvalidInput as sweep()
/// @par Cost  that of sweep() and replay()
[[nodiscard]] RunPicture picture_of_run(const TaskTree& tree, const Schedule& schedule,
                                        const SweepOptions& options,
                                        const Subtrees& subtrees);

/// One task after the other, the k-th from time k to k + 1, without lanes.
/// @throws InvalidInput as replay()
[[nodiscard]] RunPicture picture_of_order(const TaskTree& tree,
                                          std::span<const TaskId> order,
                                          const Subtrees& subtrees);

}  // namespace espalier::report
