#include "solver/scaling/nearest_first.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace espalier::solver {

void NearestFirst::clear() {
  entries_.clear();
  first_.fill(kNone);
  unused_ = kNone;
  occupied_ = last_ = 0;
}

// Empties the lowest place that is occupied: its nearest entries go to place 0, the
// others to places below their own.
void NearestFirst::spread(int place, std::span<const double> distance) {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  std::int32_t* link_to = &first_[place];
  for (std::int32_t at = first_[place]; at != kNone; at = *link_to) {
    const auto [length, node, next] = entries_[at];
    if (length == distance[node]) {
      least = std::min(least, std::bit_cast<std::uint64_t>(length));
      link_to = &entries_[at].next;
    } else {
      *link_to = next;
      unuse(at);
    }
  }
  std::int32_t at = first_[place];
  first_[place] = kNone;
  occupied_ &= occupied_ - 1;
  if (at == kNone) return;
  last_ = least;
  while (at != kNone) {
    const std::int32_t next = entries_[at].next;
    link(at);
    at = next;
  }
}

}  // namespace espalier::solver
