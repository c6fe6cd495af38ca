#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>

namespace espalier::solver {

// Where the entries of buckets begin that stand one bucket after the other: one offset
// more than there are buckets.

/// From counts that stand one place to the right of their bucket.
inline void counts_to_starts(std::span<std::int64_t> start) {
  std::partial_sum(start.begin(), start.end(), start.begin());
}

/// Back from cursors, which went from the start of a bucket to that of the next.
inline void cursors_to_starts(std::span<std::int64_t> start) {
  std::copy_backward(start.begin(), start.end() - 1, start.end());
  start.front() = 0;
}

}  // namespace espalier::solver
