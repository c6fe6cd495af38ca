#include "solver/memory/pages_on_demand.h"

#include <algorithm>
#include <functional>

namespace espalier::solver {

PagesOnDemand::PagesOnDemand(PageBuffer& buffer)
    : buffer_(buffer),
      units_(static_cast<std::size_t>((buffer.size() + kUnit - 1) / kUnit)) {}

void PagesOnDemand::need(Bytes begin, Bytes end) {
  if (begin >= end) return;
  for (Bytes at = begin / kUnit * kUnit; at < end; at += kUnit) {
    Unit& unit = units_[static_cast<std::size_t>(at / kUnit)];
    if (unit.here.load(std::memory_order_acquire)) continue;
    const std::scoped_lock lock(unit.bringing);
    if (unit.here.load(std::memory_order_relaxed)) continue;
    buffer_.fill(at, std::min(at + kUnit, buffer_.size()), PageBuffer::Content::kAny);
    unit.here.store(true, std::memory_order_release);
  }
}

void PagesOnDemand::need(std::span<const std::byte> place) {
  const std::byte* const first = buffer_.data();
  if (std::less<>{}(place.data(), first) ||
      !std::less<>{}(place.data(), first + buffer_.size()))
    return;
  const Bytes begin = place.data() - first;
  need(begin, std::min(begin + std::ssize(place), buffer_.size()));
}

}  // namespace espalier::solver
