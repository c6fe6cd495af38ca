#pragma once

#include <vector>

#include "espalier/sequential/out_of_core/out_of_core_plan.h"

namespace espalier {

/// What happens when a plan is carried out.
struct OutOfCoreReplay {
  Bytes peak = 0;
  Bytes written = 0, read = 0;
  std::vector<Bytes> running;  ///< in memory while the task at each position runs
};

/// The evaluator of plans out of core: it shares nothing with those who make them. Data
/// are followed one by one, by what is in memory and what is on disk of each.
///
/// The bound and the sums of the plan are not looked at: compare them with the answer.
///
/// @throws InvalidInput when the order is not each task once, children first; when an
///   eviction names no task of the tree, no position, no byte, more bytes than are in
///   memory of its datum, or a position before its task has ended or after its parent has
///   started; when read_at is not the parent's position, or not none where nobody reads;
///   when evictions are not by written_at
/// @par Cost  O(n + evictions)
/// @par Test  ReplayOutOfCore.*
[[nodiscard]] OutOfCoreReplay replay_out_of_core(const TaskTree& tree,
                                                 const OutOfCorePlan& plan);

}  // namespace espalier
