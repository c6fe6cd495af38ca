#include "espalier/sequential/downsets/visited_downsets.h"

#include <algorithm>

namespace espalier {
namespace {

std::uint64_t hash_of(std::span<const BlockTaskId> ready) {
  std::uint64_t mixed = 0x9e3779b97f4a7c15 + ready.size();
  for (const BlockTaskId task : ready) {
    mixed = (mixed ^ static_cast<std::uint64_t>(task)) * 0xff51afd7ed558ccd;
    mixed ^= mixed >> 32;
  }
  return mixed;
}

std::uint32_t tag_of(std::uint64_t hash) {
  return static_cast<std::uint32_t>(hash >> 32);
}

}  // namespace

bool VisitedDownsets::equals(std::int32_t number,
                             std::span<const BlockTaskId> ready) const {
  const auto i = static_cast<std::size_t>(number);
  const auto known = std::span(tasks_).subspan(first_[i], first_[i + 1] - first_[i]);
  return std::equal(known.begin(), known.end(), ready.begin(), ready.end());
}

bool VisitedDownsets::contains(std::span<const BlockTaskId> ready) const {
  const std::uint64_t hash = hash_of(ready);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = hash & mask; slots_[slot].number >= 0;
       slot = (slot + 1) & mask) {
    if (slots_[slot].tag == tag_of(hash) && equals(slots_[slot].number, ready))
      return true;
  }
  return false;
}

std::size_t VisitedDownsets::free_slot(std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  while (slots_[slot].number >= 0) slot = (slot + 1) & mask;
  return slot;
}

void VisitedDownsets::add(std::span<const BlockTaskId> ready) {
  if (2 * (size() + 1) > slots_.size()) grow();
  const std::uint64_t hash = hash_of(ready);
  slots_[free_slot(hash)] = {tag_of(hash), static_cast<std::int32_t>(size())};
  hash_.push_back(hash);
  tasks_.insert(tasks_.end(), ready.begin(), ready.end());
  first_.push_back(tasks_.size());
}

void VisitedDownsets::grow() {
  slots_.assign(2 * slots_.size(), Slot());
  for (std::size_t i = 0; i < size(); ++i) {
    slots_[free_slot(hash_[i])] = {tag_of(hash_[i]), static_cast<std::int32_t>(i)};
  }
}

}  // namespace espalier
