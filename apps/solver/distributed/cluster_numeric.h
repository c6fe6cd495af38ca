#pragma once

#include <memory>

#include "solver/api/numeric.h"
#include "solver/distributed/communicator.h"
#include "solver/distributed/shares.h"
#include "solver/distributed/transport.h"

namespace espalier::solver {

/// What the processes of a job factor and solve with together. All outlive the Numeric.
struct ClusterSite {
  Communicator& communicator;
  Transport& transport;
  const Shares& shares;
};

/// A Numeric whose calls are collective but for those that tell bytes: trees are those of
/// the process, part_of(); a bad pivot is the same one everywhere, and counts of pivots
/// are of all processes. A factor cannot be saved.
[[nodiscard]] std::unique_ptr<Numeric> make_cluster_numeric(Precision precision,
                                                            const ClusterSite& site);

}  // namespace espalier::solver
