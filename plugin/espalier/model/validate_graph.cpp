#include "espalier/model/validate_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "espalier/model/violations.h"

namespace espalier {
namespace {

constexpr std::size_t kMissing = std::numeric_limits<std::size_t>::max();

// The position of each operator in the order.
std::vector<std::size_t> positions(const TaskGraph& graph, std::span<const TaskId> order,
                                   Violations& violations) {
  std::vector<std::size_t> position(graph.size(), kMissing);
  for (std::size_t k = 0; k < order.size(); ++k) {
    const std::size_t i = index(order[k]);
    if (i >= graph.size()) {
      complain(violations,
               fmt::format("position {} holds operator {}, the graph has {}", k,
                           static_cast<std::int32_t>(order[k]), graph.size()));
    } else if (position[i] != kMissing) {
      complain(violations, fmt::format("{} is at positions {} and {}",
                                       label(graph, task_id(i)), position[i], k));
    } else {
      position[i] = k;
    }
  }
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (position[i] == kMissing) {
      complain(violations,
               fmt::format("{} is missing from the order", label(graph, task_id(i))));
    }
  }
  return position;
}

// From the position of the producer, or the start, to that of the last reader, or the
// end: both included.
struct Lifetime {
  std::size_t first = 0, last = 0;
};

Lifetime lifetime(const TaskGraph& graph, DatumId datum,
                  std::span<const std::size_t> position) {
  const auto producer = graph.producer(datum);
  Lifetime life;
  if (producer) life.first = life.last = position[index(*producer)];
  for (const TaskId reader : graph.consumers(datum)) {
    life.last = std::max(life.last, position[index(reader)]);
  }
  const bool never_freed = !producer && graph.consumers(datum).empty();
  if (graph.kept(datum) || never_freed) life.last = position.size() - 1;
  return life;
}

// The most bytes alive at once: sums of differences, the start being part of step 0.
Bytes peak_of_lifetimes(const TaskGraph& graph, std::span<const std::size_t> position) {
  std::vector<Bytes> change(graph.size() + 1, 0);
  for (std::size_t d = 0; d < graph.data(); ++d) {
    const Lifetime life = lifetime(graph, datum_id(d), position);
    change[life.first] += graph.size(datum_id(d));
    change[life.last + 1] -= graph.size(datum_id(d));
  }
  for (std::size_t i = 0; i < graph.size(); ++i) {
    change[position[i]] += graph.workspace(task_id(i));
    change[position[i] + 1] -= graph.workspace(task_id(i));
  }
  Bytes bytes = 0, peak = 0;
  for (const Bytes step : change) peak = std::max(peak, bytes += step);
  return peak;
}

}  // namespace

Violations validate(const TaskGraph& graph, const Traversal& traversal) {
  Violations violations;
  const std::vector<std::size_t> position = positions(graph, traversal.order, violations);
  if (!violations.empty()) return violations;
  for (std::size_t d = 0; d < graph.data(); ++d) {
    const auto producer = graph.producer(datum_id(d));
    if (!producer) continue;
    for (const TaskId reader : graph.consumers(datum_id(d))) {
      if (position[index(reader)] > position[index(*producer)]) continue;
      complain(violations,
               fmt::format("{} runs before {}, whose {} it reads", label(graph, reader),
                           label(graph, *producer), label(graph, datum_id(d))));
    }
  }
  if (!violations.empty()) return violations;
  const Bytes peak =
      graph.empty() ? graph.initial_bytes() : peak_of_lifetimes(graph, position);
  if (peak != traversal.peak) {
    complain(violations, fmt::format("the peak is {}, not {}", peak, traversal.peak));
  }
  return violations;
}

}  // namespace espalier
