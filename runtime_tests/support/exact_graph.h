#pragma once

// Exhaustive answers for tiny graphs, straight from the definition of memory in use.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "espalier/model/task_graph.h"

namespace espalier::support {

/// Whether the datum is in memory when the operators of `done` (a bit each) have run and
/// nothing runs.
inline bool in_memory(const TaskGraph& graph, DatumId datum, std::uint32_t done) {
  const auto producer = graph.producer(datum);
  if (producer && (done >> index(*producer) & 1) == 0) return false;
  if (graph.kept(datum)) return true;
  for (const TaskId reader : graph.consumers(datum)) {
    if ((done >> index(reader) & 1) == 0) return true;
  }
  return !producer && graph.consumers(datum).empty();
}

inline Bytes memory_after(const TaskGraph& graph, std::uint32_t done) {
  Bytes bytes = 0;
  for (std::size_t d = 0; d < graph.data(); ++d) {
    if (in_memory(graph, datum_id(d), done)) bytes += graph.size(datum_id(d));
  }
  return bytes;
}

/// Memory while the operator runs after those of `done`.
inline Bytes memory_during(const TaskGraph& graph, TaskId task, std::uint32_t done) {
  Bytes bytes = memory_after(graph, done) + graph.workspace(task);
  for (const DatumId datum : graph.outputs(task)) bytes += graph.size(datum);
  return bytes;
}

/// The operators that write what each one reads, a bit each.
inline std::vector<std::uint32_t> predecessors(const TaskGraph& graph) {
  std::vector<std::uint32_t> before(graph.size(), 0);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    for (const DatumId datum : graph.inputs(task_id(i))) {
      const auto producer = graph.producer(datum);
      if (producer) before[i] |= std::uint32_t{1} << index(*producer);
    }
  }
  return before;
}

/// Least peak over all orders: a dynamic program over the sets of operators that may have
/// run. Up to 16 operators.
inline Bytes exact_peak(const TaskGraph& graph) {
  constexpr Bytes kUnreachable = std::numeric_limits<Bytes>::max();
  const std::uint32_t all = (std::uint32_t{1} << graph.size()) - 1;
  const std::vector<std::uint32_t> before = predecessors(graph);
  std::vector<Bytes> peak(std::size_t{all} + 1, kUnreachable);
  peak[0] = memory_after(graph, 0);
  for (std::uint32_t done = 0; done < all; ++done) {
    if (peak[done] == kUnreachable) continue;
    for (std::size_t i = 0; i < graph.size(); ++i) {
      if ((done >> i & 1) != 0 || (before[i] & ~done) != 0) continue;
      const Bytes during = memory_during(graph, task_id(i), done);
      Bytes& after = peak[done | std::uint32_t{1} << i];
      after = std::min(after, std::max(peak[done], during));
    }
  }
  return peak[all];
}

/// Peak of one order.
inline Bytes peak_of(const TaskGraph& graph, const std::vector<TaskId>& order) {
  Bytes peak = memory_after(graph, 0);
  std::uint32_t done = 0;
  for (const TaskId task : order) {
    peak = std::max(peak, memory_during(graph, task, done));
    done |= std::uint32_t{1} << index(task);
  }
  return peak;
}

}  // namespace espalier::support
