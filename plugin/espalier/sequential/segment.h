#pragma once

#include <algorithm>
#include <span>

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
struct Segment {
  Bytes peak = 0;  ///< at least max(0, net)
  Bytes net = 0;
  TaskId first{}, last{};

  /// Hill − valley. Independent segments of non-negative net run by decreasing key.
  [[nodiscard]] Bytes key() const { return peak - net; }
};

/// `a`, then `b`, as one segment.
inline Segment concat(const Segment& a, const Segment& b, std::span<TaskId> next) {
  next[index(a.last)] = b.first;
  return {std::max(a.peak, a.net + b.peak), a.net + b.net, a.first, b.last};
}

}  // namespace espalier
