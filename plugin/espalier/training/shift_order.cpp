#include "espalier/training/shift_order.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "espalier/model/replay_graph.h"

namespace espalier {
namespace {

constexpr std::size_t kMostTried = 64;

std::vector<std::size_t> positions(std::span<const TaskId> order) {
  std::vector<std::size_t> position(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) position[index(order[k])] = k;
  return position;
}

// The first position of what reads something that the operator writes.
std::size_t first_reader(const TaskGraph& graph, TaskId task,
                         const std::vector<std::size_t>& position) {
  std::size_t first = position.size();
  for (const DatumId output : graph.outputs(task)) {
    for (const TaskId reader : graph.consumers(output))
      first = std::min(first, position[index(reader)]);
  }
  return first;
}

// The last position of what writes something that the operator reads, and 1.
std::size_t after_writers(const TaskGraph& graph, TaskId task,
                          const std::vector<std::size_t>& position) {
  std::size_t after = 0;
  for (const DatumId input : graph.inputs(task)) {
    if (const auto producer = graph.producer(input))
      after = std::max(after, position[index(*producer)] + 1);
  }
  return after;
}

std::vector<TaskId> moved(std::span<const TaskId> order, std::size_t from,
                          std::size_t to) {
  std::vector<TaskId> result(order.begin(), order.end());
  const auto at = [&](std::size_t i) {
    return result.begin() + static_cast<std::ptrdiff_t>(i);
  };
  if (from < to) {
    std::rotate(at(from), at(from + 1), at(to));
  } else {
    std::rotate(at(to), at(from), at(from + 1));
  }
  return result;
}

}  // namespace

std::optional<std::vector<TaskId>> shift_order(const TaskGraph& graph,
                                               std::span<const TaskId> order,
                                               const Lifetimes& lifetimes,
                                               const Layout& layout) {
  const std::vector<std::size_t> position = positions(order);
  const Bytes peak = replay(graph, order).peak;
  std::size_t tried = 0;
  for (std::size_t b = 0; b < lifetimes.buffers.size() && tried < kMostTried; ++b) {
    const Buffer& buffer = lifetimes.buffers[buffer_id(b)];
    if (layout.offsets[b] + buffer.size != layout.capacity_bytes) continue;
    const auto* datum = std::get_if<DatumId>(&lifetimes.holds[b]);
    if (datum == nullptr || !graph.producer(*datum)) continue;
    ++tried;
    const TaskId producer = *graph.producer(*datum);
    const std::size_t from = position[index(producer)];
    const std::size_t late = first_reader(graph, producer, position);
    if (late > from + 1) {
      auto candidate = moved(order, from, late);
      if (replay(graph, candidate).peak <= peak) return candidate;
    }
    if (graph.stays(*datum)) continue;
    const TaskId last = order[static_cast<std::size_t>(buffer.upper - 1)];
    const std::size_t early = after_writers(graph, last, position);
    if (early < position[index(last)]) {
      auto candidate = moved(order, position[index(last)], early);
      if (replay(graph, candidate).peak <= peak) return candidate;
    }
  }
  return std::nullopt;
}

}  // namespace espalier
