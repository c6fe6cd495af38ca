#pragma once

#include <cstdint>
#include <vector>

#include "espalier/distributed/communication.h"
#include "espalier/distributed/distribute.h"
#include "espalier/model/plan.h"

namespace espalier {

/// A predicted run on several processes.
struct DistributedRun {
  Seconds makespan = 0;     ///< at one unit of work a second and worker
  std::vector<Bytes> peak;  ///< of each process
  Bytes volume = 0;         ///< that processes send each other
  std::int64_t messages = 0;
  LowerBounds lower_bounds;  ///< of all workers together, without network and memory
  Flops shared_work = 0, work = 0;  ///< of shared tasks, of all
};

/// Runs a distribution event by event: simulate() over the parts of all processes, each
/// a pool of workers, with DistributedAdmission inside distribution.bound.
///
/// The parts of a shared task start together, when all its processes have admitted it.
/// First the task's traffic passes, see task_traffic(); then each part takes workers of
/// its process and has the task's work in proportion to its pieces. Each part ends on its
/// own. A task can use max_workers[i] workers, or one for each piece if that is more; a
/// part in proportion to its pieces. Parts on the longest path to a root go first.
///
/// @param options  of distribute()
/// @throws InvalidInput for a network that takes no or infinite time, and as simulate()
/// @par Cost  O((n + parts) log^2 n)
[[nodiscard]] DistributedRun simulate_distribution(const TaskTree& tree,
                                                   const Distribution& distribution,
                                                   const DistributionOptions& options,
                                                   FrontCut cut = FrontCut::kBlocks);

struct RunsByCut {
  DistributedRun blocks, columns;
};

/// With fronts cut in either way. Where both send the same, one run is both.
[[nodiscard]] RunsByCut simulate_cuts(const TaskTree& tree,
                                      const Distribution& distribution,
                                      const DistributionOptions& options);

}  // namespace espalier
