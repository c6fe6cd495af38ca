#pragma once

#include <cstdint>
#include <span>

#include "solver/threads/task_pool.h"

namespace espalier::solver {

/// How long a TaskPool of `workers` threads would take for tasks that were recorded, by
/// the pool's own rules: of ready tasks the largest first, loops before tasks, who owns a
/// loop waits for its last block. What a task did alone is spread evenly before, between
/// and after its loops. Not modelled: memory bandwidth and clock rates that threads
/// share, and the start of threads.
///
/// @param tasks    by number; a task that another one added starts after that one's end
/// @param workers  1 or more
/// @return seconds from the start of the first task to the end of the last one
/// @par Cost  O(blocks log workers + tasks log tasks)
/// @par Test  worked examples; one worker takes the sum; never below the longest chain
[[nodiscard]] Seconds replay_tasks(std::span<const RecordedTask> tasks,
                                   std::int32_t workers);

}  // namespace espalier::solver
