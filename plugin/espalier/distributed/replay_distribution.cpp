#include "espalier/distributed/part_trees.h"
#include "espalier/distributed/validate_distribution.h"
#include "espalier/model/replay.h"

namespace espalier {

std::vector<Bytes> replay_distribution(const TaskTree& tree,
                                       const Distribution& distribution) {
  std::vector<Bytes> peaks;
  for (const PartTree& parts : part_trees(tree, distribution))
    peaks.push_back(replay(parts.tree, witness_of(parts)).peak);
  return peaks;
}

}  // namespace espalier
