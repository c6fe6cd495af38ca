#include "espalier/model/validate_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "espalier/model/violations.h"

namespace espalier {
namespace {

// The offsets of each buffer alone, and the highest end.
Bytes check_each(const BufferSet& buffers, const Layout& layout, Bytes alignment,
                 Violations& violations) {
  Bytes highest = 0;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Bytes offset = layout.offsets[i], size = buffers[buffer_id(i)].size;
    Bytes end = 0;
    if (offset < 0) {
      complain(violations,
               fmt::format("buffer {}: the offset {} is negative", i, offset));
    } else if (offset % alignment != 0) {
      complain(violations, fmt::format("buffer {}: the offset {} is no multiple of {}", i,
                                       offset, alignment));
    } else if (__builtin_add_overflow(offset, size, &end)) {
      complain(violations, fmt::format("buffer {}: {} + {} leaves the 64-bit range", i,
                                       offset, size));
    }
    highest = std::max(highest, end);
  }
  return highest;
}

// Live buffers by offset; a buffer that overlaps is named and left out.
class LiveBuffers {
 public:
  LiveBuffers(const BufferSet& buffers, const Layout& layout, Violations& violations)
      : buffers_(buffers), layout_(layout), violations_(violations) {}

  void start(std::size_t i) {
    const Bytes offset = layout_.offsets[i];
    const auto above = live_.lower_bound(offset);
    if (above != live_.end() && end_of(i) > above->first)
      return overlap(i, above->second);
    if (above != live_.begin()) {
      const std::size_t below = std::prev(above)->second;
      if (end_of(below) > offset) return overlap(i, below);
    }
    live_.emplace_hint(above, offset, i);
  }

  void end(std::size_t i) {
    const auto found = live_.find(layout_.offsets[i]);
    if (found != live_.end() && found->second == i) live_.erase(found);
  }

 private:
  [[nodiscard]] Bytes end_of(std::size_t i) const {
    return layout_.offsets[i] + buffers_[buffer_id(i)].size;
  }

  void overlap(std::size_t a, std::size_t b) {
    const auto describe = [&](std::size_t i) {
      const Buffer& buffer = buffers_[buffer_id(i)];
      return fmt::format("buffer {}, bytes {} … {} in [{}, {})", i, layout_.offsets[i],
                         end_of(i), buffer.lower, buffer.upper);
    };
    complain(violations_, fmt::format("{} overlaps {}", describe(a), describe(b)));
  }

  const BufferSet& buffers_;
  const Layout& layout_;
  Violations& violations_;
  std::map<Bytes, std::size_t> live_;
};

void check_overlaps(const BufferSet& buffers, const Layout& layout,
                    Violations& violations) {
  std::vector<std::tuple<std::int64_t, bool, std::size_t>> events;  // ends before starts
  events.reserve(2 * buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& buffer = buffers[buffer_id(i)];
    if (buffer.size == 0) continue;
    events.emplace_back(buffer.lower, true, i);
    events.emplace_back(buffer.upper, false, i);
  }
  std::ranges::sort(events);
  LiveBuffers live(buffers, layout, violations);
  for (const auto& [time, starts, buffer] : events)
    starts ? live.start(buffer) : live.end(buffer);
}

}  // namespace

Violations validate(const BufferSet& buffers, const Layout& layout, Bytes alignment) {
  Violations violations;
  if (alignment < 1) {
    complain(violations, fmt::format("the alignment {} is not positive", alignment));
    return violations;
  }
  if (layout.offsets.size() != buffers.size()) {
    complain(violations, fmt::format("{} offsets for {} buffers", layout.offsets.size(),
                                     buffers.size()));
    return violations;
  }
  const Bytes highest = check_each(buffers, layout, alignment, violations);
  if (!violations.empty()) return violations;
  check_overlaps(buffers, layout, violations);
  const Bytes over = layout.capacity_bytes - highest;
  if (over < 0 || over >= alignment || layout.capacity_bytes % alignment != 0)
    complain(violations, fmt::format("the capacity is {}, the highest end {}",
                                     layout.capacity_bytes, highest));
  if (layout.lower_bound_bytes < layout.load_bytes ||
      layout.lower_bound_bytes > layout.capacity_bytes)
    complain(violations, fmt::format("the lower bound {} is not between load {} and "
                                     "capacity {}",
                                     layout.lower_bound_bytes, layout.load_bytes,
                                     layout.capacity_bytes));
  return violations;
}

}  // namespace espalier
