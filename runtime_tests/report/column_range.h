#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "espalier/report/memory_chart.h"

namespace espalier::report {

struct Range {
  Bytes high = std::numeric_limits<Bytes>::min();
  Bytes low = std::numeric_limits<Bytes>::max();
  void add(Bytes bytes) {
    high = std::max(high, bytes);
    low = std::min(low, bytes);
  }
};

/// What is held in column c, from the definition: at its moments, and before its first
/// one what was held when it began.
inline Range range_of(const std::vector<MemoryPoint>& profile, const Columns& columns,
                      std::size_t c) {
  const bool last = c + 1 == columns.start.size();
  const Seconds from = columns.start[c];
  const Seconds to = last ? columns.end : columns.start[c + 1];
  Range range;
  Bytes before = 0;
  bool moment_at_start = false;
  for (const MemoryPoint& point : profile) {
    if (point.time < from) before = point.bytes;
    // A last column of exact moments ends before the next one; others have their end.
    const bool inside =
        point.time >= from &&
        (point.time < to || (last && point.time == to && (!columns.exact || to == from)));
    if (!inside) continue;
    moment_at_start = moment_at_start || point.time == from;
    range.add(point.bytes);
  }
  if (!moment_at_start) range.add(before);
  return range;
}

}  // namespace espalier::report
