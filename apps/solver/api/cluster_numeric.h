#pragma once

#include <memory>
#include <optional>

#include "solver/api/numeric.h"
#include "solver/distributed/channel.h"
#include "solver/distributed/communicator.h"
#include "solver/distributed/front_distribution.h"

namespace espalier::solver {

/// What the processes of a job factor and solve with together. All outlive the Numeric.
struct ClusterSite {
  Communicator& communicator;
  Channel& channel;
  const FrontDistribution& distribution;
};

/// A Numeric whose calls are collective but for those that tell bytes: trees are those of
/// the process, part_of(); a bad pivot is the same one everywhere, and counts of pivots
/// are of all processes. Each saves what it has.
/// @param complex  none: of a real matrix
[[nodiscard]] std::unique_ptr<Numeric> make_cluster_numeric(
    Precision precision, std::optional<ComplexSymmetry> complex, const ClusterSite& site);

}  // namespace espalier::solver
