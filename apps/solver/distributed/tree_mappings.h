#pragma once

#include <cstdint>
#include <vector>

#include "espalier/model/schedule.h"
#include "espalier/model/task_tree.h"
#include "solver/distributed/process_part.h"
#include "solver/symbolic/symbolic.h"
#include "solver/tree/assembly_tree.h"

namespace espalier::solver {

/// One way to map a tree onto processes.
struct TreeMapping {
  std::vector<WorkerRange> group;  ///< processes of each node, nested
  std::vector<TaskId> witness;     ///< the order in which its peaks are what they are
  std::int32_t panels_at_once = FrontDistribution{}.panels_at_once;
  friend bool operator==(const TreeMapping&, const TreeMapping&) = default;
};

/// Ways to map an assembly tree that are worth a look, from the least memory for each
/// process to the least time, none twice: those of distribute() within several budgets,
/// subtree_groups() with tops of several sizes, and all at one process. Several fronts
/// that are one task are nowhere shared. Each that shares fronts is there twice: with two
/// panels of others at once and with one, which is less memory.
///
/// @param tree  build_assembly_tree(), for all processes
/// @par Cost  a dozen runs of distribute()
[[nodiscard]] std::vector<TreeMapping> tree_mappings(const Symbolic& symbolic,
                                                     const AssemblyTree& tree,
                                                     std::int32_t processes,
                                                     std::int32_t workers);

/// About the time of a process's work and of what it receives, one after the other:
/// right in its order of magnitude, for the choice among mappings.
/// @param part  part_of()
[[nodiscard]] Seconds estimated_seconds(const AssemblyTree& part, const Traffic& received,
                                        std::int32_t workers);

}  // namespace espalier::solver
