#include "espalier/sequential/series_parallel/edge_weighted_dag.h"

#include <fmt/format.h>

#include <limits>

#include "espalier/model/error.h"

namespace espalier {
namespace {

Bytes checked_size(const char* what, std::size_t number, Bytes size) {
  if (size < 0) {
    throw InvalidInput(fmt::format("{} {}: size {} is negative", what, number, size));
  }
  return size;
}

void check_ends(std::span<const Arc> arcs, std::size_t arc, std::size_t tasks) {
  for (const TaskId end : {arcs[arc].from, arcs[arc].to}) {
    if (index(end) >= tasks) {
      throw InvalidInput(fmt::format("arc {}: {} is not one of the {} tasks", arc,
                                     static_cast<std::int32_t>(end), tasks));
    }
  }
}

}  // namespace

EdgeWeightedDag::EdgeWeightedDag(std::span<const Bytes> execution_sizes,
                                 std::span<const Arc> arcs,
                                 std::span<const Bytes> arc_sizes)
    : execution_(execution_sizes.begin(), execution_sizes.end()),
      arc_size_(arc_sizes.begin(), arc_sizes.end()),
      input_(execution_sizes.size()),
      output_(execution_sizes.size()),
      arcs_(arcs.begin(), arcs.end()) {
  constexpr auto kMost =
      static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
  // The two terminals add two vertices, and an arc to or from a task at most twice.
  if (size() > (kMost - 2) / 4 || arcs_.size() > kMost / 2) {
    throw InvalidInput(
        fmt::format("{} tasks and {} arcs are too many", size(), arcs_.size()));
  }
  if (arcs_.size() != arc_size_.size()) {
    throw InvalidInput(
        fmt::format("{} arcs have {} sizes", arcs_.size(), arc_size_.size()));
  }
  Bytes total = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    total = checked_add(total, checked_size("task", i, execution_[i]));
  }
  for (std::size_t a = 0; a < arcs_.size(); ++a) {
    check_ends(arcs_, a, size());
    total = checked_add(total, checked_size("arc", a, arc_size_[a]));
    output_[index(arcs_[a].from)] += arc_size_[a];  // at most the total
    input_[index(arcs_[a].to)] += arc_size_[a];
  }
  check_cycles();
}

// Tasks in topological order as far as there is one; what is left then has a predecessor
// that is left, so that walking backwards ends on a cycle.
void EdgeWeightedDag::check_cycles() const {
  const std::size_t n = size();
  std::vector<std::size_t> first(n + 1), entering(n);
  for (const Arc& arc : arcs_) {
    ++first[index(arc.from) + 1];
    ++entering[index(arc.to)];
  }
  for (std::size_t i = 0; i < n; ++i) first[i + 1] += first[i];
  std::vector<TaskId> successors(arcs_.size()), ready;
  std::vector<std::size_t> end(first.begin(), first.end() - 1);
  for (const Arc& arc : arcs_) successors[end[index(arc.from)]++] = arc.to;
  for (std::size_t i = 0; i < n; ++i) {
    if (entering[i] == 0) ready.push_back(task_id(i));
  }
  for (std::size_t k = 0; k < ready.size(); ++k) {
    const std::size_t from = index(ready[k]);
    for (std::size_t s = first[from]; s < first[from + 1]; ++s) {
      if (--entering[index(successors[s])] == 0) ready.push_back(successors[s]);
    }
  }
  if (ready.size() == n) return;
  std::vector<std::size_t> before(n, n);
  std::size_t task = n;
  for (const Arc& arc : arcs_) {
    if (entering[index(arc.from)] == 0 || entering[index(arc.to)] == 0) continue;
    before[index(arc.to)] = index(arc.from);
    task = index(arc.to);
  }
  for (std::size_t steps = 0; steps < n; ++steps) task = before[task];
  throw InvalidInput(
      fmt::format("task {} runs before itself: the arcs have a cycle", task));
}

}  // namespace espalier
