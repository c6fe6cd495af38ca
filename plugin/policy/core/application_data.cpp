#include "policy/core/application_data.h"

namespace espalier::policy {

void ApplicationData::add(const void* begin, Bytes extent, Bytes bytes) {
  if (begin == nullptr || bytes <= 0) return;
  const auto from = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t to = from + static_cast<std::uintptr_t>(extent);
  auto next = parts_.upper_bound(from);
  if (next != parts_.begin()) {
    const auto before = std::prev(next);
    if (before->second.end >= to && before->second.bytes >= bytes) return;
    if (before->first == from) next = before;
  }
  // What is known and lies inside is a part of this.
  while (next != parts_.end() && next->first < to && next->second.end <= to) {
    bytes_ -= next->second.bytes;
    next = parts_.erase(next);
  }
  const auto [place, fresh] = parts_.try_emplace(from, Part{to, bytes});
  // Another datum that begins here, and reaches further: a larger one's tile.
  if (fresh) bytes_ += bytes;
}

}  // namespace espalier::policy
