#pragma once

#include <vector>

#include "espalier/distributed/distribute.h"
#include "espalier/model/validate.h"

namespace espalier {

/// Groups lie inside the processes and contain the groups of the children; owners are
/// distinct processes of the group with pieces; the witness is each task once, children
/// first; the peak of each process is exact, inside the bound, and none is below the
/// lower bound.
///
/// Shares no code with the planners: what a process holds is computed anew from the rule
/// of TaskCut, task by task along the witness.
/// @par Cost  O(n + pieces' owners, with those of the children)
/// @par Test  ValidateDistribution.*
[[nodiscard]] Violations validate(const TaskTree& tree, const Distribution& distribution);

/// The peak of each process when the parts of its tasks run one after the other in the
/// order of the witness: replay() of part_trees().
/// @throws InvalidInput as replay(), TaskOverflow as part_trees()
[[nodiscard]] std::vector<Bytes> replay_distribution(const TaskTree& tree,
                                                     const Distribution& distribution);

}  // namespace espalier
