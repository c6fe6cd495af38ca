#include "espalier/model/replay_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "espalier/model/error.h"

namespace espalier {

LayoutFigures replay_layout(const BufferSet& buffers, std::span<const Bytes> offsets) {
  if (offsets.size() != buffers.size())
    throw InvalidInput(
        fmt::format("{} offsets for {} buffers", offsets.size(), buffers.size()));
  LayoutFigures figures;
  std::vector<std::pair<std::int64_t, Bytes>> changes;  // ends first: they are negative
  changes.reserve(2 * buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& buffer = buffers[buffer_id(i)];
    figures.capacity_bytes =
        std::max(figures.capacity_bytes, checked_add(offsets[i], buffer.size));
    changes.emplace_back(buffer.lower, buffer.size);
    changes.emplace_back(buffer.upper, -buffer.size);
  }
  std::ranges::sort(changes);
  Bytes live = 0;
  for (const auto& [time, change] : changes)
    figures.load_bytes = std::max(figures.load_bytes, live += change);
  return figures;
}

}  // namespace espalier
