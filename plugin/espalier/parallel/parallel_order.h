#pragma once

#include <cstdint>
#include <span>

#include "espalier/model/task_tree.h"
#include "espalier/model/traversal.h"
#include "espalier/parallel/sequential_orders.h"

namespace espalier {

struct ParallelOrderOptions {
  std::int32_t workers = 1;
  Bytes memory_bound = 0;
  std::span<const double> max_workers = {};  ///< as in PlanOptions
};

/// An activation order for memory booking on P workers inside M.
///
/// Memory booking is safe with any order whose sequential peak is at most M, and nothing
/// but the order decides which subtrees are in memory together. Liu's order finishes one
/// subtree after the other; where M leaves room, an order that interleaves them keeps
/// more workers busy. Several orders are simulated, and the one that ends first is taken:
///
///   - Liu's;
///   - for q = 2, 4, 8, 16 workers (at most max(P, 4)) and M' = M, 1.2 M, 1.35 M: the
///     order in which tasks start when q workers run the memory-aware mapping for q and
///     M'. One after the other they often need less than M although together they do not;
///   - the order in which the tasks of the best run so far start, as long as that is
///     better than the order of that run, four times at most. Run one after the other,
///     tasks never hold more than they held in that run.
///
/// Large trees are searched with small subtrees as one task each, see coarsen(). The
/// choice is made with the works given, but whatever they really are the bound holds.
/// Equal makespans: the first in the order above.
///
/// @param orders  sequential_orders(tree)
/// @return an order of peak at most M, whose simulated makespan is at most that of Liu's
/// @throws InvalidInput as simulate(), and for M below Liu's peak
/// @par Cost  at most 17 orders are tried on the coarse tree, 12 of them with a run of
/// the
///            mapping, and no more than come to 300 000 tasks; two runs of the whole
///            tree. Liu's order without a run where the coarse tree has over 100 000
///            tasks
/// @par Test  ParallelOrder.IsSafeAndNeverSlowerThanLiu
[[nodiscard]] Traversal parallel_order(const TaskTree& tree,
                                       const SequentialOrders& orders,
                                       const ParallelOrderOptions& options);

}  // namespace espalier
