#pragma once

#include <atomic>
#include <cstdint>

#include "espalier/solver/results.h"
#include "solver/front/front.h"
#include "solver/threads/task_pool.h"
#include "solver/tree/node_pieces.h"

namespace espalier::solver {

/// Assembles and factors the fronts of a tree's only node as run_sequential_node() does,
/// to the same bits, by several threads without a runtime: the calling one and others,
/// which end with it. Each takes the earliest piece that is ready, in postorder, or a
/// tile of a front in tiles that is open.
///
/// The lowest bad column is the one that the log has, whatever the threads do.
///
/// @param context  has a pool, and its scratch a place for each TaskPool::rank()
/// @param ask      called by the calling thread, between its tasks and while it waits;
///                 what it throws is thrown when the others have ended
/// @param done     receives the work of what has ended
/// @param report   receives busy_seconds and tasks
/// @throws Error when the system has no memory
template <class T>
void run_in_threads(const FrontContext<T>& context, const NodePieces& cut,
                    const Interrupt& ask, std::atomic<Flops>& done, FactorReport& report);

}  // namespace espalier::solver
