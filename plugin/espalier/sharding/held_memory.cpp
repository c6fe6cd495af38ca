#include "espalier/sharding/held_memory.h"

#include <algorithm>
#include <limits>

namespace espalier {

HeldMemory::HeldMemory(const std::vector<Bytes>& room) : sections_(room.size()) {
  while (leaves_ < sections_) leaves_ *= 2;
  most_.assign(2 * leaves_, std::numeric_limits<Bytes>::min() / 2);
  added_.assign(2 * leaves_, 0);
  for (std::size_t t = 0; t < sections_; ++t) most_[leaves_ + t] = -room[t];
  for (std::size_t node = leaves_; node-- > 1;)
    most_[node] = std::max(most_[2 * node], most_[2 * node + 1]);
}

void HeldMemory::add(std::int32_t from, std::int32_t to, Bytes bytes) {
  if (from < to && bytes != 0)
    raise(1, 0, leaves_, static_cast<std::size_t>(from), static_cast<std::size_t>(to),
          bytes);
}

// As deep as the tree: some twenty calls.
void HeldMemory::raise(std::size_t node, std::size_t first, std::size_t size,
                       std::size_t from, std::size_t to, Bytes bytes) {
  if (from <= first && first + size <= to) {
    most_[node] += bytes;
    added_[node] += bytes;
    return;
  }
  const std::size_t half = size / 2, middle = first + half;
  if (from < middle) raise(2 * node, first, half, from, to, bytes);
  if (to > middle) raise(2 * node + 1, middle, half, from, to, bytes);
  most_[node] = std::max(most_[2 * node], most_[2 * node + 1]) + added_[node];
}

std::int32_t HeldMemory::fullest() const {
  std::size_t node = 1;
  while (node < leaves_)
    node = 2 * node + (most_[2 * node] < most_[2 * node + 1] ? 1 : 0);
  return static_cast<std::int32_t>(node - leaves_);
}

std::vector<Bytes> HeldMemory::all() const {
  std::vector<Bytes> all(sections_);
  for (std::size_t t = 0; t < sections_; ++t) {
    all[t] = most_[leaves_ + t];
    for (std::size_t node = (leaves_ + t) / 2; node > 0; node /= 2)
      all[t] += added_[node];
  }
  return all;
}

}  // namespace espalier
