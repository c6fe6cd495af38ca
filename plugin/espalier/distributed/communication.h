#pragma once

#include <cstdint>
#include <vector>

#include "espalier/distributed/distribute.h"

namespace espalier {

/// How the owners of a front share it.
enum class FrontCut {
  kBlocks,  ///< 2-D: blocks on a grid of processes, nearly square
  kColumns  ///< 1-D: block columns
};

/// What processes send each other.
struct Traffic {
  Bytes volume = 0;
  std::int64_t messages = 0;
  Seconds time = 0;  ///< of the process that takes longest
  friend bool operator==(const Traffic&, const Traffic&) = default;
};

/// What tasks send before they can use workers. Local tasks send nothing. A shared task
/// with q owners and n pieces
///
/// - moves its children's outputs to its owners: of what a process holds, the part that
///   it owns of the task stays, the rest goes, one message to each other owner. It takes
///   latency for each message of a process and the bytes of the process that sends or
///   receives most;
/// - makes its panels, r bytes in all, known where they are used. kBlocks: with
///   a x b processes, a = floor(sqrt(q)), b = ceil(q / a), each block of a panel goes
///   along its row and its column, r (a + b - 2) bytes in n r / (f + r) (a + b - 2)
///   messages. kColumns: each block column goes to all others, r (q - 1) bytes in
///   c (q - 1) messages, with c = sqrt(n) r / (f + r) columns. Broadcasts are by trees,
///   so that each of c steps takes log2 a + log2 b or log2 q times the latency; the bytes
///   are received in equal parts.
///
/// What happens at the same time in a real run is added up here, so that times are on the
/// safe side.
///
/// @return by task
/// @throws OverflowError when a volume leaves the 64-bit range
/// @par Cost  O(n + owners)
[[nodiscard]] std::vector<Traffic> task_traffic(const TaskTree& tree,
                                                const Distribution& distribution,
                                                const Network& network, FrontCut cut);

}  // namespace espalier
