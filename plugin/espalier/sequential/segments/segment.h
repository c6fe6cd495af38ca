#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "espalier/model/task_tree.h"

namespace espalier {

/// A run of tasks that is executed without interruption, seen from outside by two numbers
/// relative to the memory in use when it starts:
///
///   memory |    /\      hill    peak = hill − start
///          |   /  \__   valley  net = valley − start, may be negative
///          | _/
///
/// Its tasks form a rope: next[task] is the task that runs after it, so that two segments
/// are joined in O(1). The link of `last` means nothing.
///
/// Segments are the material of profiles (profile.h), and what is said of two of them is
/// said here once.
struct Segment {
  Bytes peak = 0;  ///< at least max(0, net)
  Bytes net = 0;
  TaskId first{}, last{};

  /// Hill − valley: the peak of the segment when time runs backwards.
  [[nodiscard]] Bytes key() const { return peak - net; }

  /// Where independent segments go in the best order of all of them: those that free
  /// memory come first, by increasing peak, then the others by decreasing key. The rank
  /// is negative for the former.
  [[nodiscard]] Bytes rank() const {
    constexpr Bytes kMost = std::numeric_limits<Bytes>::max();
    return net < 0 ? peak - kMost - 1 : kMost - key();
  }
};

/// `a`, then `b`, as one segment.
inline Segment concat(const Segment& a, const Segment& b, std::span<TaskId> next) {
  next[index(a.last)] = b.first;
  return {std::max(a.peak, a.net + b.peak), a.net + b.net, a.first, b.last};
}

/// `b` must follow `a`: true when nothing is gained by running anything between them.
///   a frees, b frees      b's hill is no higher than a's: run b at once
///   a adds, b does not    same, or b's hill has to be passed before a pays
///   both add              a's hill is no higher than b's: leave a until b
///   a frees, b adds       never: the valley between them is the place to wait
/// When it is false, rank(a) < rank(b).
inline bool joins(const Segment& a, const Segment& b) {
  if (a.net < 0) return b.net < 0 && b.peak <= a.key();
  return b.net <= 0 || b.peak >= a.key();
}

/// The tasks of a segment, in order.
inline std::vector<TaskId> rope(const Segment& segment, std::span<const TaskId> next) {
  std::vector<TaskId> tasks{segment.first};
  while (tasks.back() != segment.last) tasks.push_back(next[index(tasks.back())]);
  return tasks;
}

}  // namespace espalier
