#include "solver/scaling/nearest_first.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace espalier::solver {

void NearestFirst::clear() {
  nearest_.clear();
  entries_.clear();
  first_.fill(kNone);
  unused_ = kNone;
  occupied_ = last_ = 0;
}

// Empties the lowest list that is occupied: its nearest nodes become the nearest ones,
// the others go to lists below.
void NearestFirst::spread(int list, std::span<const double> distance) {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  std::int32_t* link_to = &first_[list];
  for (std::int32_t at = first_[list]; at != kNone; at = *link_to) {
    const auto [length, node, next] = entries_[at];
    if (length == distance[node]) {
      least = std::min(least, std::bit_cast<std::uint64_t>(length));
      link_to = &entries_[at].next;
    } else {
      *link_to = next;
      unuse(at);
    }
  }
  std::int32_t at = first_[list];
  first_[list] = kNone;
  occupied_ &= occupied_ - 1;
  if (at == kNone) return;
  last_ = least;
  while (at != kNone) {
    const std::int32_t next = entries_[at].next;
    if (std::bit_cast<std::uint64_t>(entries_[at].distance) == last_) {
      nearest_.push_back(entries_[at].node);
      unuse(at);
    } else {
      link(at);
    }
    at = next;
  }
}

}  // namespace espalier::solver
