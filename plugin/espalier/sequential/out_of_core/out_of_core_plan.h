#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "espalier/model/task_tree.h"

namespace espalier {

/// Bytes of one datum that leave memory for a while, or for good.
///
/// Two kinds of data wait in memory between tasks:
///   an output that its parent will read: what leaves is read back when the parent
///   starts; what nobody reads again, the r_i of a task (factors) and the output of a
///   root: what leaves is written once and stays out to the end of the job.
struct Eviction {
  enum class Datum {
    kOutput,   ///< f_i
    kRetained  ///< r_i
  };
  TaskId task{};  ///< whose datum
  Datum datum = Datum::kOutput;
  Bytes bytes = 0;             ///< more than 0, at most what is in memory of the datum
  std::size_t written_at = 0;  ///< before the task at this position of the order starts
  std::optional<std::size_t> read_at = {};  ///< position of the parent; none: never
  friend bool operator==(const Eviction&, const Eviction&) = default;
};

/// A tree on one worker under a bound, with a disk beside it.
///
/// The model is that of task_tree.h: while task i runs, MemReq(i) = inputs + m_i + f_i +
/// r_i bytes are in memory at once, all of them. Any number of bytes of any datum that
/// waits may be on disk instead, so that each task needs
///
///   MemReq(i) + what has not left of the data that wait  <=  M,
///
/// and a bound of max_i MemReq(i), least_out_of_core(), suffices for every order; no
/// smaller one does for any. The literature [MMSV17] has max(inputs, output) in the place
/// of MemReq and retains nothing. What it proves needs of a task's requirement only that
/// it contains inputs and output; a tree with m_i = -min(inputs, f_i) is its model to the
/// byte.
///
/// No plan writes less than the peak of liu_traversal(tree) - M: so much is out when the
/// order is at its peak.
///
/// Before the task at position k starts, what the plan writes at k is written, then what
/// is on disk of its inputs is read.
struct OutOfCorePlan {
  std::vector<TaskId> order;  ///< each task once, children first
  Bytes bound = 0;
  Bytes written = 0, read = 0;      ///< of all evictions
  std::vector<Eviction> evictions;  ///< by written_at, then as they were chosen

  /// What the disk has to do.
  [[nodiscard]] Bytes moved() const { return written + read; }
};

/// max_i MemReq(i); 0 for no task. O(n).
[[nodiscard]] Bytes least_out_of_core(const TaskTree& tree);

}  // namespace espalier
